// Package docs_test runs what the documentation shows: every sample of the reference and every snippet of the guides,
// in every language, against the real program.
package docs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

// world is a service with an account, and a folder where snippets run.
type world struct {
	t          *testing.T
	server     *program.Process
	receiver   *httptest.Server
	folder     string
	test, live *client.Client
	env        []string
	keys       map[string]string // for endpoints, by language
	photos     []string          // URLs of two photos, in Test
	livePhotos []string
	token      string // of an administrator of the desk
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, folder: t.TempDir(), keys: make(map[string]string)}
	w.receiver = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(w.receiver.Close)
	w.server = program.Start(t, program.Settings{
		"webhook-allow-private": "true", "webhook-ca-file": must.CertificateFile(t, w.receiver),
	})
	w.server.CLI(t, new(any), "catalog", "import", w.write("catalog.yaml", string(demo.Catalog)))
	w.server.CLI(t, new(any), "accounts", "create", "--name", "Shop", "--owner", "owner@shop.example")
	w.server.CLI(t, new(any), "credits", "grant", "--account", "Shop", "--env", "live", "--amount", "10000", "--note", "x")
	var staff struct{ Token string }
	w.server.CLI(t, &staff, "staff", "create", "--email", "a@assay.example", "--name", "Ada", "--role", "admin")
	w.token = staff.Token
	testKey, liveKey := w.key("test"), w.key("live")
	w.test, w.live = w.client(testKey), w.client(liveKey)
	photo, err := os.ReadFile(filepath.Join("..", "..", "internal", "pages", "docs", "static", "sample.jpg"))
	must.NoError(t, err)
	for _, name := range []string{"front.jpg", "serial.jpg", "sample.jpg"} {
		w.write(name, string(photo))
	}
	w.photos, w.livePhotos = w.upload(w.test), w.upload(w.live)
	w.env = append(os.Environ(), "ASSAY_KEY="+testKey, "ASSAY_LIVE_KEY="+liveKey, "ASSAY_STAFF_TOKEN="+w.token,
		"ASSAY_SERVER="+w.server.URL(""), "ASSAY_WEBHOOK_SECRET="+strings.Repeat("5f", 32), "PORT=0",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+absolute(t, "../../clients/python"))
	return w
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.Abs(path)
	must.NoError(t, err)
	return out
}

// key makes a key whose limits let six languages do everything within a minute.
func (w *world) key(environment string) string {
	var made struct{ Key string }
	arguments := []string{
		"keys", "create", "--account", "Shop", "--env", environment, "--name", "docs", "--scopes", "all",
	}
	for _, category := range []string{"catalog", "read", "create", "update", "upload", "webhook"} {
		arguments = append(arguments, "--limit", category+"=5000")
	}
	w.server.CLI(w.t, &made, arguments...)
	return made.Key
}

// keyOf returns a key for the endpoints of a language, of which a key has ten, and the variable that holds it.
func (w *world) keyOf(language string) (key, variable string) {
	variable = "ASSAY_KEY_" + strings.ToUpper(language)
	if w.keys[language] == "" {
		w.keys[language] = w.key("test")
		w.env = append(w.env, variable+"="+w.keys[language])
	}
	return w.keys[language], variable
}

// variable returns the value of a variable of the snippets.
func (w *world) variable(name string) string {
	for _, v := range w.env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (w *world) client(key string) *client.Client {
	c, err := client.New(w.server.URL("/v1/integrations"), key)
	must.NoError(w.t, err)
	return c
}

func (w *world) upload(c *client.Client) []string {
	var out []string
	for range 2 {
		file, err := os.Open(filepath.Join(w.folder, "sample.jpg"))
		must.NoError(w.t, err)
		results, err := c.UploadPhotos(w.t.Context(), client.File{Name: "sample.jpg", Content: file})
		must.NoError(w.t, err)
		must.NoError(w.t, file.Close())
		out = append(out, results[0].URL)
	}
	return out
}

func (w *world) write(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	must.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.NoError(w.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// run runs a command in the folder and returns what it printed.
func (w *world) run(t *testing.T, command string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, arguments...)
	cmd.Dir, cmd.Env = w.folder, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n…%s", cmd, err, out[max(0, len(out)-4000):])
	}
	return string(out)
}

// testOrder makes a Test order of a bag.
func (w *world) testOrder(ctx context.Context, externalID string) {
	w.t.Helper()
	_, err := w.test.CreateOrder(ctx, client.CreateOrder{
		CategoryCode: "bags", BrandCode: "prada", ExternalID: externalID, MockOutcome: client.MockFake,
		Photos: []client.OrderPhoto{{IndexCode: "overall-picture", URL: w.photos[0]}},
	})
	must.NoError(w.t, err)
}

// liveOrder makes a Live order of a bag that can wait for its answer, and returns its id.
func (w *world) liveOrder(ctx context.Context, externalID string) string {
	created, err := w.live.CreateOrder(ctx, client.CreateOrder{
		CategoryCode: "bags", BrandCode: "prada", AnswerTime: 1440, ExternalID: externalID,
		Photos: []client.OrderPhoto{
			{IndexCode: "overall-picture", URL: w.livePhotos[0]}, {IndexCode: "serial-number", URL: w.livePhotos[1]},
		},
	})
	must.NoError(w.t, err)
	return created.ID
}

// moveOrder moves an order at the desk.
func (w *world) moveOrder(id, move, body string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost,
		w.server.URL("/v1/desk/orders/"+id+"/"+move), strings.NewReader(body))
	must.NoError(w.t, err)
	request.Header.Set("Authorization", "Bearer "+w.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	must.NoError(w.t, err)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= 300 {
		w.t.Fatalf("%s of %s answers %d", move, id, response.StatusCode)
	}
}

// installTypeScript puts the TypeScript client where Node finds it.
func (w *world) installTypeScript(node string) {
	w.t.Helper()
	source := absolute(w.t, "../../clients/typescript")
	target := filepath.Join(w.folder, "node_modules", "@assayhq", "client")
	text, err := os.ReadFile(filepath.Join(source, "package.json"))
	must.NoError(w.t, err)
	w.write("node_modules/@assayhq/client/package.json", string(text))
	cmd := exec.CommandContext(w.t.Context(), node, filepath.Join(source, "node_modules", "typescript", "bin", "tsc"),
		"--outDir", filepath.Join(target, "dist"))
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("compile the TypeScript client (npm ci in clients/typescript): %v\n%s", err, out)
	}
}

// build compiles a Go program with the client of the repository.
func (w *world) build(name, source string) string {
	w.t.Helper()
	file, binary := w.write(name+"/main.go", source), filepath.Join(w.folder, name, "run")
	cmd := exec.CommandContext(w.t.Context(), "go", "build", "-o", binary, file)
	cmd.Dir = absolute(w.t, "../..")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s\n%s", err, out, numbered(source))
	}
	return binary
}

func numbered(source string) string {
	var b strings.Builder
	for i, line := range strings.Split(source, "\n") {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, line)
	}
	return b.String()
}
