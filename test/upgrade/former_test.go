package upgrade_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
)

const root = "../.."

// migrations is where the schema is and was.
var migrations = []string{"internal/store/schema/migrations", "internal/store/migrations"}

// tenantNumbers came with the numbers of tenants. Programs before, of which none was released, do not write them.
const tenantNumbers = "internal/store/tenant.go"

// former builds the program of the former schema, that of the last commit before the schema was changed which can be
// built, and returns its path and its commit. It is kept for later runs.
func former(t *testing.T) (binary, commit string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	must.NoError(t, err)
	cache = filepath.Join(cache, "assay-former")
	must.NoError(t, os.MkdirAll(cache, 0o750))
	commit = git(t, append([]string{"log", "-1", "-M", "--diff-filter=AM", "--format=%H", "--"}, migrations...)...)
	first := git(t, "log", "-1", "--diff-filter=A", "--format=%H", "--", tenantNumbers)
	for range 20 { // some commits are a step of a larger change
		commit = git(t, "rev-parse", commit+"^")
		if git(t, "merge-base", commit, first) != first {
			commit = first
		}
		binary = filepath.Join(cache, commit)
		if _, err := os.Stat(binary); err == nil {
			return binary, commit
		}
		if output, err := build(t, commit, binary); err != nil {
			t.Logf("%.8s cannot be built: %v\n%s", commit, err, output)
			continue
		}
		return binary, commit
	}
	t.Fatal("no commit before the change of the schema can be built")
	return "", ""
}

// build builds the program of a commit.
func build(t *testing.T, commit, binary string) (output string, err error) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source")
	must.NoError(t, os.MkdirAll(source, 0o750))
	archive := filepath.Join(t.TempDir(), "source.tar")
	git(t, "archive", "--format=tar", "-o", archive, commit)
	if output, err := run(t, source, "tar", "-xf", archive); err != nil {
		return output, err
	}
	made := binary + ".new"
	output, err = run(t, source, "go", "build", "-trimpath", "-tags", "nodynamic", "-o", made, "./cmd/assay")
	if err != nil {
		return output, err
	}
	return "", os.Rename(made, binary)
}

// git returns the output of a command of git about this repository. A copy without history fails the test.
func git(t *testing.T, args ...string) string {
	t.Helper()
	output, err := run(t, root, "git", args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

func run(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	output, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(output)), err
}
