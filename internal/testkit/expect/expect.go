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

// Results fails the test for every key of the table for which f does not return its value.
func Results[K, V comparable](t testing.TB, f func(K) V, table map[K]V) {
	t.Helper()
	for in, want := range table {
		if got := f(in); got != want {
			t.Errorf("%#v: got %#v, want %#v", in, got, want)
		}
	}
}
