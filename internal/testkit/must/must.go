// Package must ends a test at the first error.
package must

import (
	"errors"
	"io"
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
