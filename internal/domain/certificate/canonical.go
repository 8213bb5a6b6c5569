package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth exceeds the nesting of any certificate.
const maxDepth = 16

// Canonical returns the canonical form of a JSON value (RFC 8785), which is signed: sorted names, no whitespace,
// minimal escapes. Ambiguous input is refused: duplicate names, invalid UTF-8, and numbers other than integers
// below 2^53.
func Canonical(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		return nil, errors.New("the text is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	out, err := appendValue(nil, d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return out, nil
}

func appendValue(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errors.New("the value is nested too deeply")
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return appendObject(out, d, depth)
		}
		return appendArray(out, d, depth)
	case string:
		return appendString(out, v), nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil || n > 1<<53 || n < -1<<53 || strconv.FormatInt(n, 10) != v.String() {
			return nil, fmt.Errorf("the number %s is not a whole one below 2^53", v)
		}
		return strconv.AppendInt(out, n, 10), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	}
	return append(out, "null"...), nil
}

func appendObject(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	type member struct {
		name  string
		value []byte
	}
	var members []member
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("a name is not a string")
		}
		value, err := appendValue(nil, d, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int {
		return slices.Compare(utf16.Encode([]rune(a.name)), utf16.Encode([]rune(b.name)))
	})
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				return nil, fmt.Errorf("the name %q stands twice", m.name)
			}
			out = append(out, ',')
		}
		out = append(appendString(out, m.name), ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

func appendArray(out []byte, d *json.Decoder, depth int) ([]byte, error) {
	out = append(out, '[')
	for i := 0; d.More(); i++ {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendValue(out, d, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return append(out, ']'), nil
}

func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, `\b`...)
		case '\t':
			out = append(out, `\t`...)
		case '\n':
			out = append(out, `\n`...)
		case '\f':
			out = append(out, `\f`...)
		case '\r':
			out = append(out, `\r`...)
		default:
			if c < 0x20 {
				out = append(out, `\u00`...)
				out = append(out, hex[c>>4], hex[c&15])
			} else {
				out = append(out, c)
			}
		}
	}
	return append(out, '"')
}
