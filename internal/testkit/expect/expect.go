// Package expect compares values so that a failing test says which of them differs.
package expect

import "testing"

// Equal fails the test unless the values are equal; what names them.
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
