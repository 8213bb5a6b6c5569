package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/testkit/must"
)

var fence = regexp.MustCompile("(?ms)^```([a-z]+)([^\n]*)\n(.*?)\n```$")

// preambles are what the quick start has made before the snippets of a guide go on.
var preambles = map[string]string{
	"sh": "set -euo pipefail\n",
	"ts": `import { readFile } from "node:fs/promises";
import { Client } from "@assayhq/client";
const client = new Client("` + guideServer + `/v1/integrations", process.env.ASSAY_KEY ?? "");
`,
	"python": `import os
from assay import Client
client = Client("` + guideServer + `/v1/integrations", os.environ["ASSAY_KEY"])
`,
	"go": `c, err := client.New("` + guideServer + `/v1/integrations", os.Getenv("ASSAY_KEY"))
check("client", err)
_ = c
`,
	"php": "", "ruby": "",
}

const guideServer = "http://127.0.0.1:8080"

// runGuides runs the snippets of each guide as one program in each language. Those of Go are one program for all
// guides, but for those that are whole by themselves. No order is made beforehand: a guide has that of the quick start.
func (w *world) runGuides(t *testing.T, commands map[string]string) {
	t.Helper()
	known := receivers(t)
	var allGo strings.Builder
	for _, name := range guides.Names() {
		content, err := guides.Read(name, text.English)
		must.NoError(t, err)
		byLanguage := make(map[string]string)
		for _, m := range fence.FindAllStringSubmatch(string(content), -1) {
			language, code := m[1], m[3]
			if _, runs := preambles[language]; runs && !known[code] {
				byLanguage[language] += code + "\n"
			}
		}
		for language, code := range byLanguage {
			if !strings.Contains(code, "new Client(") && !strings.Contains(code, "= Client(") &&
				!strings.Contains(code, "package main") {
				code = preambles[language] + code
			}
			code = strings.ReplaceAll(code, guideServer, w.server.URL(""))
			if language == "go" && !strings.HasPrefix(code, "package main") {
				allGo.WriteString("func() {\n" + code + "fmt.Println(\"ran " + name + "\")\n}()\n")
				continue
			}
			t.Run("Guide/"+name+"/"+language, func(t *testing.T) {
				var out string
				switch language {
				case "go":
					out = w.run(t, w.build(name, code))
				case "ts":
					out = w.run(t, commands[language], w.write(name+".mjs", code+"process.exit(0);\n"))
				default:
					out = w.run(t, commands[language], w.write(name+"."+extensions[language], code))
				}
				if name == "quickstart" && !strings.Contains(out, "authentic") {
					t.Errorf("there is no verdict:\n%s", out)
				}
				if strings.Contains(out, "Warning") || strings.Contains(out, "Deprecated") {
					t.Errorf("it warns:\n%s", out)
				}
			})
		}
	}
	t.Run("Guide/go", func(t *testing.T) {
		out := w.run(t, w.build("guides", goProgram(allGo.String())))
		if strings.Count(out, "ran ") != strings.Count(allGo.String(), "\"ran ") {
			t.Errorf("it printed:\n%s", out)
		}
	})
}

// receivers are the snippets that the portal shows, too, and tests. The guide has the same text.
func receivers(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "internal", "pages", "portal", "snippets", "verify.*"))
	must.NoError(t, err)
	known := make(map[string]bool)
	for _, file := range files {
		code, err := os.ReadFile(file)
		must.NoError(t, err)
		known[strings.TrimRight(string(code), "\n")] = true
	}
	content, err := guides.Read("webhooks", text.English)
	must.NoError(t, err)
	for code := range known {
		if !strings.Contains(string(content), "\n"+code+"\n```\n") {
			t.Errorf("the guide of webhooks does not have the snippet of the portal:\n%s", code)
		}
	}
	return known
}
