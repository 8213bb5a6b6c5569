package pictures

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Sample returns a test file of a module dependency: nothing here can encode HEIC.
func Sample(t testing.TB, module, name string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}
