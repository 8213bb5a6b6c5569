package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/testkit/child"
)

// Variable names a binary that is already built; `make test` sets it.
const Variable = "ASSAY_TEST_BINARY"

// Build returns the path of the binary: the one named by ASSAY_TEST_BINARY, otherwise one built once for this test
// process.
func Build(t testing.TB) string {
	t.Helper()
	binary, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(Variable); path != "" {
		// Stat also makes the file an input of Go's test cache.
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w; run `make build`", Variable, err)
		}
		return path, nil
	}
	folder, err := os.MkdirTemp("", "assay-binary-")
	if err != nil {
		return "", err
	}
	if _, err := child.StartJanitor(folder); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "assay")
	build := exec.Command("go", "build", "-tags", "nodynamic", "-o", path, "github.com/assayhq/assay/cmd/assay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, output)
	}
	return path, nil
})
