package wire

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeLen returns the length of the escape at the start of s, a part of a string in JSON, or 0 when it is broken.
// A surrogate pair is one escape. Escapes for NUL and for a surrogate without its other half are valid JSON; the text
// they make is not storable.
func EscapeLen(s string) (n int, storable bool) {
	if len(s) < 2 {
		return 0, false
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, true
	case 'u':
	default:
		return 0, false
	}
	r, ok := hex4(s[2:])
	switch {
	case !ok:
		return 0, false
	case utf16.IsSurrogate(r):
		if pairAt(s) != utf8.RuneError {
			return 12, true
		}
		return 6, false
	}
	return 6, r != 0
}

// pairAt returns the character of the surrogate pair at the start of s (\uXXXX\uXXXX), or utf8.RuneError when the two
// are not a pair.
func pairAt(s string) rune {
	high, ok := hex4(s[2:])
	if !ok || len(s) < 12 || s[6] != '\\' || s[7] != 'u' {
		return utf8.RuneError
	}
	low, ok := hex4(s[8:])
	if !ok {
		return utf8.RuneError
	}
	return utf16.DecodeRune(high, low)
}

// hex4 reads the four hexadecimal digits at the start of s.
func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}
