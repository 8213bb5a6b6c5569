package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
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
	out, err := canonical(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return []byte(out), nil
}

// canonical returns the canonical form of the next value.
func canonical(d *json.Decoder, depth int) (string, error) {
	if depth > maxDepth {
		return "", errors.New("the value is nested too deeply")
	}
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	switch v := token.(type) {
	case json.Delim:
		members, err := canonicalMembers(d, v == '{', depth)
		if v == '{' {
			return "{" + strings.Join(members, ",") + "}", err
		}
		return "[" + strings.Join(members, ",") + "]", err
	case string:
		return quote(v), nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil || n > 1<<53 || n < -1<<53 || strconv.FormatInt(n, 10) != v.String() {
			return "", fmt.Errorf("the number %s is not a whole one below 2^53", v)
		}
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "null", nil
}

// canonicalMembers returns the elements of an array, or the members of an object in the order of their names in UTF-16.
func canonicalMembers(d *json.Decoder, named bool, depth int) ([]string, error) {
	type member struct{ name, text string }
	var members []member
	for d.More() {
		var m member
		if named {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			m.name = token.(string) // the decoder refuses everything else
			m.text = quote(m.name) + ":"
		}
		value, err := canonical(d, depth+1)
		if err != nil {
			return nil, err
		}
		m.text += value
		members = append(members, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if named {
		slices.SortFunc(members, func(a, b member) int {
			return slices.Compare(utf16.Encode([]rune(a.name)), utf16.Encode([]rune(b.name)))
		})
	}
	texts := make([]string, len(members))
	for i, m := range members {
		if named && i > 0 && members[i-1].name == m.name {
			return nil, fmt.Errorf("the name %q stands twice", m.name)
		}
		texts[i] = m.text
	}
	return texts, nil
}

func quote(s string) string { return `"` + escapes.Replace(s) + `"` }

var escapes = func() *strings.Replacer {
	pairs := []string{`"`, `\"`, `\`, `\\`, "\b", `\b`, "\t", `\t`, "\n", `\n`, "\f", `\f`, "\r", `\r`}
	for c := range ' ' { // the pairs before these win
		pairs = append(pairs, string(c), fmt.Sprintf(`\u%04x`, c))
	}
	return strings.NewReplacer(pairs...)
}()
