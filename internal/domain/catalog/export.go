package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// checkSize refuses a document that is within the limits as written, but not as it would be stored and exported:
// the program must be able to read what it has accepted. Small documents without aliases cannot grow that much.
func (p *parser) checkSize(top cursor, size int) {
	if size < maxBytes/16 && !top.r.aliased {
		return
	}
	for _, write := range []func() ([]byte, error){p.doc.YAML, p.doc.JSON} {
		data, err := write()
		if err != nil {
			top.problem("the document cannot be written out: %s", err)
			return
		}
		if message := exceeds(data); message != "" {
			top.problem("written out in full, %s", message)
			return
		}
	}
}

// JSON returns the document as compact JSON. Parse returns an equal document.
func (d *Document) JSON() ([]byte, error) {
	var b bytes.Buffer
	w := jsonWriter{&b, json.NewEncoder(&b)}
	w.encoder.SetEscapeHTML(false)
	if err := w.value(d.outline()); err != nil {
		return nil, fmt.Errorf("catalog: write JSON: %w", err)
	}
	return b.Bytes(), nil
}

type jsonWriter struct {
	*bytes.Buffer
	encoder *json.Encoder
}

func (w jsonWriter) value(v any) error {
	switch v := v.(type) {
	case mapping:
		return w.list('{', len(v), '}', func(i int) error {
			if err := w.value(v[i].key); err != nil {
				return err
			}
			w.WriteByte(':')
			return w.value(v[i].value)
		})
	case []mapping:
		return w.list('[', len(v), ']', func(i int) error { return w.value(v[i]) })
	case []string:
		return w.list('[', len(v), ']', func(i int) error { return w.value(v[i]) })
	case Clock:
		return w.value(v.String())
	default:
		if err := w.encoder.Encode(v); err != nil {
			return err
		}
		w.Truncate(w.Len() - 1) // the encoder ends with a line break
		return nil
	}
}

func (w jsonWriter) list(opening byte, length int, closing byte, element func(i int) error) error {
	w.WriteByte(opening)
	for i := range length {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := element(i); err != nil {
			return err
		}
	}
	w.WriteByte(closing)
	return nil
}

// YAML returns the document as an operator would write it: one property per line, short lists and texts in braces.
// Parse returns an equal document.
func (d *Document) YAML() ([]byte, error) {
	var b bytes.Buffer
	for _, section := range d.outline() {
		entries, ok := section.value.([]mapping)
		if !ok {
			b.WriteString(section.key + ": " + flow(section.value) + "\n")
			continue
		}
		b.WriteString(section.key + ":\n")
		for _, entry := range entries {
			indent := "  - "
			for _, p := range entry {
				b.WriteString(indent + p.key + ": " + flow(p.value) + "\n")
				indent = "    "
			}
		}
	}
	return b.Bytes(), nil
}

// flow returns a value as YAML on one line.
func flow(v any) string {
	switch v := v.(type) {
	case mapping:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = p.key + ": " + flow(p.value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = flow(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Clock:
		return quoted(v.String()) // other YAML parsers read an unquoted one as a number
	case string:
		if plain(v) {
			return v
		}
		return quoted(v)
	default:
		return fmt.Sprint(v)
	}
}

// plain reports whether text needs no quotes, even inside braces. False negatives are fine.
func plain(s string) bool {
	for i, r := range s {
		next := byte(' ')
		if end := i + len(string(r)); end < len(s) {
			next = s[end]
		}
		switch {
		case i == 0 && !unicode.IsLetter(r) && !unicode.IsDigit(r):
			return false
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		case r == ' ' && (next == ' ' || next == '#'):
			return false
		case r == ':' && next <= ' ':
			return false
		case !strings.ContainsRune(" :/.-_()'&+!=%~@#…", r):
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	// Numbers and dates start with a digit and have no letters but these.
	return s[0] < '0' || s[0] > '9' || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsLetter(r) && !strings.ContainsRune("abcdefxotzABCDEFXOTZ", r)
	})
}

// quoted returns text in double quotes with unprintable characters escaped.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString(`\U` + hex(r, 8))
		default:
			b.WriteString(`\u` + hex(r, 4))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hex(r rune, digits int) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", digits-len(s)) + s
}
