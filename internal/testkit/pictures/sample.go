package pictures

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Sample returns a test file of a module dependency: nothing here can encode HEIC.
func Sample(t testing.TB, module, name string) []byte {
	t.Helper()
	file, err := ReadSample(t.Context(), module, name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// ReadSample is Sample for programs that are not tests.
func ReadSample(ctx context.Context, module, name string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "testdata", name))
}
