package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/docs"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// TestTypeScriptTypes checks the types of everything that the documentation shows in TypeScript, as strictly as a
// reader's compiler may: running it, as TestDocumentation does, does not look at types.
func TestTypeScriptTypes(t *testing.T) {
	requires.Engine(t, "the programming languages of the samples")
	node := requires.Program(t, programs["ts"][0], programs["ts"][1])
	w := &world{t: t, folder: t.TempDir()}
	w.installTypeScript(node)
	var files []string
	add := func(name, code string) { files = append(files, w.write(name+".mts", code+"\nexport {};\n")) }
	integration, desk, err := docs.Samples(guideServer)
	must.NoError(t, err)
	for _, s := range append(integration, desk...) {
		if s.Language == "ts" {
			add("sample-"+s.Operation, s.Text())
		}
	}
	for _, locale := range text.Locales {
		for _, name := range guides.Names() {
			content, err := guides.Read(name, locale)
			must.NoError(t, err)
			if code := typeScriptOf(string(content), receivers(t)); code != "" {
				add("guide-"+string(locale)+"-"+name, code)
			}
		}
	}
	snippet, err := os.ReadFile(filepath.Join("..", "..", "internal", "pages", "portal", "snippets", "verify.ts"))
	must.NoError(t, err)
	add("verify", string(snippet))
	const fewest = 40
	if len(files) < fewest {
		t.Fatalf("only %d files were found", len(files))
	}
	types := absolute(t, "../../clients/typescript/node_modules")
	arguments := append([]string{
		filepath.Join(types, "typescript", "bin", "tsc"), "--noEmit", "--strict", "--noUncheckedIndexedAccess",
		"--target", "ES2022", "--lib", "ES2022,DOM,DOM.Iterable,DOM.AsyncIterable", "--module", "NodeNext",
		"--moduleResolution", "NodeNext", "--typeRoots", filepath.Join(types, "@types"), "--types", "node",
		"--skipLibCheck", "--pretty", "false",
	}, files...)
	cmd := exec.CommandContext(t.Context(), node, arguments...)
	cmd.Dir = w.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the types do not fit (npm ci in clients/typescript installs the compiler): %v\n%s", err, out)
	}
}

// typeScriptOf returns the snippets of a guide as one module.
func typeScriptOf(content string, known map[string]bool) string {
	var b strings.Builder
	for _, m := range fence.FindAllStringSubmatch(content, -1) {
		if m[1] == "ts" && !known[m[3]] {
			b.WriteString(m[3] + "\n")
		}
	}
	code := b.String()
	if code != "" && !strings.Contains(code, "new Client(") {
		code = preambles["ts"] + code
	}
	return code
}
