// Package enum reads values of string types that have a fixed list of values.
package enum

import "slices"

// Parse returns the value of all that s names.
func Parse[T ~string](s string, all []T) (T, bool) {
	if v := T(s); slices.Contains(all, v) {
		return v, true
	}
	return "", false
}

// Names returns values as plain strings.
func Names[T ~string](values []T) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return names
}
