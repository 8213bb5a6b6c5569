package docs_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/pages/docs"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// programs run the languages; each is a Debian package and a command.
var programs = map[string][2]string{
	"sh": {"bash", "bash"}, "ts": {"nodejs", "node"}, "python": {"python3", "python3"}, "php": {"php-cli", "php"},
	"ruby": {"ruby", "ruby"},
}

// TestDocumentation starts one service and runs everything that the documentation shows against it.
func TestDocumentation(t *testing.T) {
	requires.Engine(t, "the programming languages of the samples")
	commands := make(map[string]string)
	for language, p := range programs {
		commands[language] = requires.Program(t, p[0], p[1])
	}
	requires.Program(t, "curl", "curl")
	requires.Program(t, "openssl", "openssl")
	w := newWorld(t)
	w.installTypeScript(commands["ts"])
	integration, desk, err := docs.Samples(w.server.URL(""))
	must.NoError(t, err)
	prepared := make(map[string][]docs.Sample)
	next := func(s docs.Sample) bool { return s.Operation == "takeNextOrder" }
	add := func(s docs.Sample) { prepared[s.Language] = append(prepared[s.Language], s) }
	for _, s := range desk {
		if next(s) { // before there are other orders to take
			add(w.prepareDesk(t.Context(), s))
		}
	}
	for _, s := range integration {
		add(w.prepare(t.Context(), s))
	}
	for _, s := range desk {
		if !next(s) {
			add(w.prepareDesk(t.Context(), s))
		}
	}
	for _, language := range []string{"sh", "go", "ts", "python", "php", "ruby"} {
		t.Run("Reference/"+language, func(t *testing.T) {
			source := whole(language, prepared[language])
			var out string
			if language == "go" {
				out = w.run(t, w.build("samples", source))
			} else {
				out = w.run(t, commands[language], w.write("samples."+extensions[language], source))
			}
			for _, s := range prepared[language] {
				if !strings.Contains(out, "ran "+s.Operation+"\n") {
					t.Errorf("%s did not run to its end", s.Operation)
				}
			}
		})
	}
	w.runGuides(t, commands)
	t.Run("TryIt", w.tryInBrowser)
}

var extensions = map[string]string{"sh": "sh", "ts": "mjs", "python": "py", "php": "php", "ruby": "rb"}

// Examples of the documents.
const (
	exampleFront    = "https://media.assay.example/media/k3x7v2qmzr5tdw6nbhs4ycjfaoplg2ei.jpg"
	exampleSerial   = "https://media.assay.example/media/t6bq4nzw2rkdm7xsvcf3ohjpgyea5uil.heic"
	exampleOrder    = "SKU-20417"
	exampleLink     = "0199c3b1-52d4-7a90-8c1e-3f7b9d2a6e40"
	exampleEndpoint = "0199c3a8-3c0f-7d84-b1a6-9e2c4f6b8d10"
	exampleHook     = "https://shop.example/assay/events"
	exampleDesk     = "0199c3a2-91f4-7d20-b6c8-3e5a7f1d2b40"
)

// prepare makes what a sample needs and puts it in the place of the examples.
func (w *world) prepare(ctx context.Context, s docs.Sample) docs.Sample {
	w.t.Helper()
	unique := s.Operation + "-" + s.Language
	photos := w.photos
	replace := []string{exampleHook, w.receiver.URL + "/" + unique}
	switch s.Operation {
	case "getOrder", "simulateOrder":
		w.testOrder(ctx, unique)
		replace = append(replace, exampleOrder, unique)
	case "submitUpdatePhotos", "cancelOrder": // of orders that only Live has
		id := w.liveOrder(ctx, unique)
		if s.Operation == "submitUpdatePhotos" {
			w.moveOrder(id, "claim", "")
			w.moveOrder(id, "request_photos", `{"photos": [
				{"index_code": "overall-picture", "condition": "unclear", "requirements": ["sharp-focus"]},
				{"index_code": "logo", "condition": "missing", "requirements": ["full-frame"]}
			]}`)
		}
		photos = w.livePhotos
		replace = append(replace, exampleOrder, unique, "ASSAY_KEY", "ASSAY_LIVE_KEY")
	case "getCaptureLink", "revokeCaptureLink":
		link, err := w.test.CreateCaptureLink(ctx, client.NewCaptureLink{CategoryCode: "bags", BrandCode: "prada"})
		must.NoError(w.t, err)
		replace = append(replace, exampleLink, link.ID)
	case "deleteWebhook", "updateWebhook", "rotateSecret", "createWebhook":
		key, variable := w.keyOf(s.Language)
		replace = append(replace, "ASSAY_KEY", variable)
		if s.Operation != "createWebhook" {
			hook, err := w.client(key).CreateWebhook(ctx, client.CreateWebhook{
				URL: w.receiver.URL + "/" + unique, Events: []client.WebhookEvent{client.EventOrderOutcome},
			})
			must.NoError(w.t, err)
			replace = append(replace, exampleEndpoint, hook.ID)
		}
	}
	replace = append(replace, exampleFront, photos[0], exampleSerial, photos[1])
	return replaced(s, replace)
}

// prepareDesk does the same for a sample of the desk, which works on Live orders.
func (w *world) prepareDesk(ctx context.Context, s docs.Sample) docs.Sample {
	id := w.liveOrder(ctx, "")
	if slices.Contains([]string{"releaseOrder", "requestPhotos", "completeOrder", "failOrder"}, s.Operation) {
		w.moveOrder(id, "claim", "")
	}
	s.Operation = "desk." + s.Operation
	return replaced(s, []string{exampleDesk, id})
}

func replaced(s docs.Sample, pairs []string) docs.Sample {
	r := strings.NewReplacer(pairs...)
	s.Setup, s.Call = r.Replace(s.Setup), r.Replace(s.Call)
	return s
}

// whole makes one program of all samples of a language. It fails at the first answer that is no success.
func whole(language string, samples []docs.Sample) string {
	switch language {
	case "sh":
		return wholeShell(samples)
	case "go":
		return wholeGo(samples)
	case "ts":
		return wholeTypeScript(samples)
	}
	var b strings.Builder
	end := map[string]string{
		"python": "\nprint('ran %s')\n",
		"php": "\nif (!preg_match('/ 2\\d\\d/', $http_response_header[0])) { exit(1); }\n" +
			"echo \"ran %s\\n\";\n",
		"ruby": "\nraise response.body unless response.is_a?(Net::HTTPSuccess)\nputs 'ran %s'\n",
	}[language]
	for i, s := range samples {
		if i > 0 {
			s.Setup = strings.TrimPrefix(s.Setup, "<?php")
		}
		b.WriteString(s.Text() + fmt.Sprintf(end, s.Operation))
	}
	return b.String()
}

func wholeShell(samples []docs.Sample) string {
	var b strings.Builder
	b.WriteString("set -euo pipefail\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n")
	for _, s := range samples {
		b.WriteString(s.Text() + "echo; echo 'ran " + s.Operation + "'\n")
	}
	return b.String()
}

func wholeTypeScript(samples []docs.Sample) string {
	imports := make(map[string]bool)
	var b strings.Builder
	for _, s := range samples {
		var rest []string
		for line := range strings.SplitSeq(s.Text(), "\n") {
			if strings.HasPrefix(line, "import ") {
				imports[line] = true
			} else {
				rest = append(rest, line)
			}
		}
		b.WriteString("{\n" + strings.Join(rest, "\n"))
		if strings.Contains(s.Call, "const response") {
			b.WriteString("if (!response.ok) throw new Error(\"" + s.Operation + "\");\n")
		}
		b.WriteString("console.log(\"ran " + s.Operation + "\");\n}\n")
	}
	var head strings.Builder
	for line := range imports {
		head.WriteString(line + "\n")
	}
	return head.String() + b.String() + "process.exit(0);\n"
}

func wholeGo(samples []docs.Sample) string {
	var b strings.Builder
	for _, s := range samples {
		b.WriteString("func() {\n" + s.Setup + "\n")
		if s.Setup != "" {
			b.WriteString("check(\"" + s.Operation + "\", err)\n")
		}
		b.WriteString(s.Call + "\ncheck(\"" + s.Operation + "\", err)\n")
		switch {
		case strings.Contains(s.Call, "response, err"):
			b.WriteString("if response.StatusCode >= 300 { log.Fatal(\"" + s.Operation + "\", response.Status) }\n")
		case strings.Contains(s.Call, "result, err"):
			b.WriteString("_ = result\n")
		}
		b.WriteString("fmt.Println(\"ran " + s.Operation + "\")\n}()\n")
	}
	return goProgram(b.String())
}

var packages = []string{"context", "fmt", "log", "net/http", "os", "strings", "time", "github.com/assayhq/assay/client"}

// goProgram makes a program of statements, with the packages that they use.
func goProgram(statements string) string {
	body := "func check(what string, err error) {\nif err != nil { log.Fatal(what, \": \", err) }\n}\n\n" +
		"func main() {\nctx := context.Background()\n_ = ctx\n" + statements + "}\n"
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, p := range packages {
		name := p[strings.LastIndexByte(p, '/')+1:]
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(body) {
			b.WriteString("\t\"" + p + "\"\n")
		}
	}
	return b.String() + ")\n\n" + body
}
