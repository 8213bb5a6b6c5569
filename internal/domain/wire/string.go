package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// AppendString appends s in quotes, as a json.Encoder that does not escape HTML writes it: that of answers, and slog's.
// Most strings need no escapes and are copied.
func AppendString(b []byte, s string) []byte {
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c == '"' || c == '\\' {
			return append(b, encoded(s)...)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	// The encoder escapes the two separators of lines that JavaScript once did not take.
	if !ascii && (!utf8.ValidString(s) || strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029")) {
		return append(b, encoded(s)...)
	}
	return append(append(append(b, '"'), s...), '"')
}

func encoded(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
