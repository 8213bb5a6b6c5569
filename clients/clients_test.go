// Package clients_test runs the tests of the TypeScript and the Python client with their own runners against the real
// program.
package clients_test

import (
	"bytes"
	"encoding/pem"
	"image/jpeg"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/requires"
)

func TestPython(t *testing.T) {
	t.Parallel()
	python := requires.Program(t, "python3", "python3")
	out := run(t, "python", service(t), python, "-m", "unittest", "discover", "-v")
	if !regexp.MustCompile(`(?m)^OK$`).MatchString(out) {
		t.Errorf("unittest did not run every test:\n%s", out)
	}
}

// The first order of the README works as it stands, in an empty folder that has only the installed client.
func TestPythonReadme(t *testing.T) {
	t.Parallel()
	python := requires.Program(t, "python3", "python3")
	folder := t.TempDir()
	must.NoError(t, os.CopyFS(filepath.Join(folder, "assay"), os.DirFS("python/assay")))
	file(t, folder, "first.py", example(t, "python", "python"))
	wantVerdict(t, run(t, folder, service(t), python, "first.py"))
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	npm := requires.Program(t, "npm", "npm")
	out := run(t, "typescript", service(t), npm, "test")
	if !strings.Contains(out, "# fail 0") || !strings.Contains(out, "# skipped 0") {
		t.Errorf("node did not run every test:\n%s", out)
	}
}

// The first order of the README works as it stands, in an empty folder where the client was installed as the README
// says: from a checkout that has not compiled it. The compiler is the one that is there.
func TestTypeScriptReadme(t *testing.T) {
	t.Parallel()
	requires.Program(t, "npm", "npm")
	node, bash := requires.Program(t, "nodejs", "node"), requires.Program(t, "bash", "bash")
	checkout, folder := t.TempDir(), t.TempDir()
	client := filepath.Join(checkout, "clients", "typescript")
	must.NoError(t, os.CopyFS(client, os.DirFS("typescript")))
	must.NoError(t, os.RemoveAll(filepath.Join(client, "dist")))
	install := string(example(t, "typescript", "sh"))
	run(t, folder, []string{
		"ASSAY=" + checkout, "npm_config_offline=true", "npm_config_audit=false", "npm_config_fund=false",
	}, bash, "-ec", install)
	file(t, folder, "first.mjs", example(t, "typescript", "js"))
	wantVerdict(t, run(t, folder, service(t), node, "first.mjs"))
	for _, guide := range []string{"quickstart.md", "ja/quickstart.md"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", "guides", guide))
		must.NoError(t, err)
		if !strings.Contains(string(text), install) {
			t.Errorf("%s installs the client in another way than its README:\n%s", guide, install)
		}
	}
}

// service starts the program with the demo catalog and an account, and returns the variables that tell the client's
// tests where it is. Deliveries go to a TLS server that passes them on to a free port, where the tests listen.
func service(t *testing.T) []string {
	t.Helper()
	port := freePort(t)
	behind := &url.URL{Scheme: "http", Host: "127.0.0.1:" + port}
	receiver := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(behind))
	t.Cleanup(receiver.Close)
	folder := t.TempDir()
	var photo bytes.Buffer
	must.NoError(t, jpeg.Encode(&photo, pictures.Photo(640, 480), nil))
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	i := program.New(t, program.Settings{
		"webhook-allow-private": "true", "webhook-ca-file": file(t, folder, "receiver.crt", certificate),
	})
	i.CLI(t, new(any), "catalog", "import", file(t, folder, "catalog.yaml", demo.Catalog))
	i.CLI(t, new(any), "accounts", "create", "--name", "Shop", "--owner", "owner@shop.example")
	test, live := key(t, i, "test"), key(t, i, "live")
	s := i.Start(t)
	return []string{
		"ASSAY_URL=" + s.URL("/v1/integrations"),
		"ASSAY_TEST_KEY=" + test,
		"ASSAY_SERVER=" + s.URL(""), // the two variables that the examples use, and the program itself
		"ASSAY_KEY=" + test,
		"ASSAY_LIVE_KEY=" + live,
		"ASSAY_PHOTO=" + file(t, folder, "photo.jpg", photo.Bytes()),
		"ASSAY_WEBHOOK_URL=" + receiver.URL + "/hook",
		"ASSAY_WEBHOOK_PORT=" + port,
	}
}

func key(t *testing.T, i *program.Installation, environment string) string {
	t.Helper()
	var made struct {
		Key string `json:"key"`
	}
	i.CLI(t, &made, "keys", "create", "--account", "Shop", "--env", environment, "--name", "shop", "--scopes", "all")
	return made.Key
}

func file(t *testing.T, folder, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	must.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// freePort returns a free port below those that the system hands out, so that no other server gets it meanwhile.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			must.NoError(t, listener.Close())
			return port
		}
	}
	t.Fatal("there is no free port")
	return ""
}

func wantVerdict(t *testing.T, out string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^AS-[0-9A-Z]{8} authentic$`).MatchString(out) {
		t.Errorf("the example printed:\n%s", out)
	}
}

// example returns the first block of code of a language in the client's README.
func example(t *testing.T, client, language string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(client, "README.md"))
	must.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```"+language+"\n")
	code, _, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		t.Fatalf("the README of the %s client has no block of %s", client, language)
	}
	return []byte(code)
}

// run runs a command in a folder and returns what it printed.
func run(t *testing.T, folder string, environment []string, command string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, arguments...)
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), environment...)
	var out, log bytes.Buffer // apart: what a server logs may come in the middle of a line
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, &out, &log)
	}
	return out.String() + log.String()
}
