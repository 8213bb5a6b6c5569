// Package generators checks that client generators make working clients of the OpenAPI documents that a server serves.
package generators_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/requires"
)

const (
	oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.5.0"
	oapiRuntime = "github.com/oapi-codegen/runtime@v1.1.2"

	done = "completed authentic order-not-found"
)

var npmPackages = []string{
	"openapi-typescript@7.13.0", "openapi-fetch@0.15.0", "typescript@5.9.3", "@types/node@22.19.1",
}

// workshop is a folder with a served document and a photo, and what a client needs to know of the server.
type workshop struct {
	t   *testing.T
	dir string
	env []string
}

func newWorkshop(t *testing.T, document string) *workshop {
	t.Helper()
	installation := program.New(t, program.Settings{})
	installation.CLI(t, new(any), "catalog", "import", "../e2e/testdata/catalog.yaml")
	installation.CLI(t, new(any), "accounts", "create", "--name", "Acme", "--owner", "owner@acme.example")
	var key struct{ Key string }
	installation.CLI(t, &key, "keys", "create", "--account", "Acme", "--env", "test", "--name", "shop", "--scopes", "all")
	server := installation.Start(t)
	w := &workshop{t: t, dir: t.TempDir()}
	w.write("photo.png", pictures.GrayPNG(8, 8))
	_, text := must.Get(t, http.DefaultClient, server.URL("/v1/integrations/"+document))
	w.write("openapi.json", text)
	w.env = append(os.Environ(), "ASSAY_BASE="+server.URL("/v1/integrations"), "ASSAY_KEY="+key.Key,
		"ASSAY_PHOTO="+filepath.Join(w.dir, "photo.png"), "GOFLAGS=-mod=mod", "GOWORK=off")
	return w
}

func (w *workshop) write(name string, content []byte) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), content, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workshop) copy(from, to string) {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", from))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(to, content)
}

func (w *workshop) run(name string, arguments ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir, cmd.Env = w.dir, w.env
	output, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// TestOapiCodegen makes a Go client of the OpenAPI 3.0 document and runs the whole flow of an order with it.
func TestOapiCodegen(t *testing.T) {
	requires.Engine(t, "oapi-codegen")
	w := newWorkshop(t, "openapi-3.0.json")
	w.write("go.mod", []byte("module shop\n\ngo 1.26\n"))
	w.run("go", "run", oapiCodegen, "-package", "main", "-generate", "types,client", "-o", "assay.gen.go", "openapi.json")
	w.copy("main.go.txt", "main.go")
	w.run("go", "get", oapiRuntime)
	if got := w.run("go", "run", "."); !strings.HasSuffix(got, done) {
		t.Errorf("the flow printed %q, want %q", got, done)
	}
}

// TestOpenAPITypeScript makes TypeScript types of the OpenAPI 3.1 document, checks a program against them and runs it.
func TestOpenAPITypeScript(t *testing.T) {
	npm := requires.Program(t, "npm", "npm")
	node := requires.Program(t, "nodejs", "node")
	w := newWorkshop(t, "openapi.json")
	w.write("package.json", []byte(`{"type":"commonjs","private":true}`))
	w.run(npm, append([]string{"install", "--no-audit", "--no-fund", "--silent"}, npmPackages...)...)
	w.run(filepath.Join(w.dir, "node_modules/.bin/openapi-typescript"), "openapi.json", "-o", "assay.d.ts")
	w.copy("flow.ts", "flow.ts")
	w.run(filepath.Join(w.dir, "node_modules/.bin/tsc"), "--strict", "--target", "es2022", "--module", "node16",
		"--moduleResolution", "node16", "--esModuleInterop", "--skipLibCheck", "flow.ts")
	if got := w.run(node, "flow.js"); !strings.HasSuffix(got, done) {
		t.Errorf("the flow printed %q, want %q", got, done)
	}
}
