package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// TestReadme runs the first order of the README, line by line, in the folder of a demo.
func TestReadme(t *testing.T) {
	t.Parallel()
	bash := requires.Program(t, "bash", "bash")
	requires.Program(t, "curl", "curl")
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "## A first order in a minute")
	_, rest, begins := strings.Cut(rest, "```sh\n")
	script, _, ends := strings.Cut(rest, "```")
	if !found || !begins || !ends {
		t.Fatal("the README has no first order")
	}
	folder := t.TempDir()
	s := start(t, program.Settings{"data": filepath.Join(folder, "data")}, "--demo=empty")
	script = strings.ReplaceAll(script, "127.0.0.1:8080", s.HTTP)
	cmd := exec.CommandContext(t.Context(), bash, "-euo", "pipefail", "-c", script)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"code":"overall-picture"`, `"status":"completed"`, `"outcome":"authentic"`, `"真正品"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %s:\n%s", want, out)
		}
	}
}
