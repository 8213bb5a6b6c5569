// Package need decides what happens when a test asks for something that Go alone does not bring: a database server,
// Redis, a browser.
//
// The rule is the same everywhere: the fast run (ASSAY_TEST_FAST=1, `make test-fast`) skips, every other run fails
// and says what to install. Nothing is ever skipped merely because it is missing.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// fastVariable is set by `make test-fast`.
const fastVariable = "ASSAY_TEST_FAST"

// Fast tells whether this is the run that uses nothing but Go.
func Fast() bool {
	return os.Getenv(fastVariable) != ""
}

// Engine skips the test in the fast run. Name is what the test needs, for the reader of the output.
func Engine(t testing.TB, name string) {
	t.Helper()
	if Fast() {
		t.Skipf("needs %s; left out because %s is set", name, fastVariable)
	}
}

// Program returns the path of the first of names that is installed. It skips the test in the fast run, and fails it
// when none is there, naming the Debian package to install.
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

// Missing is the advice for a program that is not installed.
func Missing(program, debianPackage string) error {
	return fmt.Errorf("%s is not installed: run scripts/install-test-deps or install the Debian package %s; "+
		"`make test-fast` runs the tests that do not need it", program, debianPackage)
}
