package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/api"
)

// The committed types are those of the document.
func TestGenerated(t *testing.T) {
	files, err := generate(api.IntegrationYAML())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what api/openapi.yaml says; run go generate ./clients/...", name)
		}
	}
}

// Each client has a method for every operation, named by its id in the language's case.
func TestEveryOperationHasAMethod(t *testing.T) {
	d, err := parse(api.IntegrationYAML())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Operations) < 14 {
		t.Fatalf("the document has only %d operations", len(d.Operations))
	}
	ts, py := read(t, "../typescript/src/client.ts"), read(t, "../python/assay/client.py")
	for _, id := range d.Operations {
		if !strings.Contains(ts, "\n  "+id+"(") && !strings.Contains(ts, "\n  async "+id+"(") {
			t.Errorf("the TypeScript client has no method %s", id)
		}
		if name := snakeCase(id); !strings.Contains(py, "    def "+name+"(") {
			t.Errorf("the Python client has no method %s", name)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func snakeCase(name string) string {
	var out strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			out.WriteByte('_')
			c += 'a' - 'A'
		}
		out.WriteRune(c)
	}
	return out.String()
}
