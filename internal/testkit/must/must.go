// Package must ends a test at the first error.
package must

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ReadAll reads what was opened, unless that has failed, and closes it.
func ReadAll(t testing.TB, f io.ReadCloser, err error) []byte {
	t.Helper()
	NoError(t, err)
	b, err := io.ReadAll(f)
	NoError(t, errors.Join(err, f.Close()))
	return b
}

// CloseLater closes c at the end of the test.
func CloseLater(t testing.TB, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Start starts a command and returns the first line that it prints.
func Start(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	output, err := cmd.StdoutPipe()
	NoError(t, err)
	NoError(t, cmd.Start())
	line, _ := bufio.NewReader(output).ReadString('\n')
	return strings.TrimSpace(line)
}
