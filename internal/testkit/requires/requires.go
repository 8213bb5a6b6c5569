// Package requires decides what happens when a test needs something besides Go: a database server, a browser.
//
// The fast run (ASSAY_TEST_FAST=1, `make test-fast`) skips such tests; every other run fails and says what to
// install. No test is skipped merely because something is missing.
package requires

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fastVariable is set by `make test-fast`.
const fastVariable = "ASSAY_TEST_FAST"

// Fast reports whether this is the fast run.
func Fast() bool {
	return os.Getenv(fastVariable) != ""
}

// Engine skips the test in the fast run. name is what the test needs.
func Engine(t testing.TB, name string) {
	t.Helper()
	if Fast() {
		t.Skipf("needs %s; left out because %s is set", name, fastVariable)
	}
}

// Program returns the path of the first installed program of names. It skips the test in the fast run, and fails it
// with the Debian package to install if there is none.
func Program(t testing.TB, debianPackage string, names ...string) string {
	t.Helper()
	Engine(t, names[0])
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal(Missing(strings.Join(names, " or "), debianPackage))
	return ""
}

// Tool returns the path of a program that the script scripts/NAME gets into .tools at the root of the project, or that
// is installed. pattern is that of its file name. The fast run skips the test.
func Tool(t testing.TB, script, pattern string) string {
	t.Helper()
	Engine(t, pattern)
	path, err := FindTool(script, pattern)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// FindTool is Tool outside of tests.
func FindTool(script, pattern string) (string, error) {
	if path, err := exec.LookPath(pattern); err == nil {
		return path, nil
	}
	dir, err := filepath.Abs(".") // tests run in the folder of their package, somewhere below
	if err != nil {
		return "", err
	}
	for {
		found, err := filepath.Glob(filepath.Join(dir, ".tools", pattern))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[len(found)-1], nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("%s is missing: run scripts/%s; `make test-fast` runs the tests that do not need it",
				pattern, script)
		}
		dir = filepath.Dir(dir)
	}
}

// Missing returns an error that says what to install.
func Missing(program, debianPackage string) error {
	return fmt.Errorf("%s is not installed: run scripts/install-test-deps or install the Debian package %s; "+
		"`make test-fast` runs the tests that do not need it", program, debianPackage)
}
