package input

import (
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str parses a string from its opening quote on and returns where its content lies. The flags say whether it holds
// escapes, and whether these make text that cannot be stored.
func (p *parser) str() (start, end uint32, flags nodeFlags, ok bool) {
	open := p.pos
	i := open + 1
	for i < len(p.text) {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return offset(open + 1), offset(i), flags, true
		case c == '\\':
			n, storable := escapeLen(p.text[i:])
			if n == 0 {
				return 0, 0, 0, p.fail(i, "broken escape")
			}
			flags |= flagEscaped
			if !storable {
				flags |= flagUnstorable
			}
			i += n
		case c < ' ':
			return 0, 0, 0, p.fail(i, "control character in a string")
		default:
			i++
		}
	}
	return 0, 0, 0, p.fail(len(p.text), "unexpected end of the text")
}

// escapeLen returns the length of the escape at the start of s, or 0 when it is broken. A surrogate pair is one escape.
// Escapes for NUL and for a surrogate without its other half are valid JSON; the text they make is not storable.
func escapeLen(s string) (n int, storable bool) {
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

// unescape returns the text of a string's content that the parser has accepted. An unpaired surrogate becomes U+FFFD.
func unescape(raw string) string {
	var s string
	if err := json.Unmarshal([]byte(`"`+raw+`"`), &s); err != nil {
		panic(err) // the parser has accepted it
	}
	return s
}
