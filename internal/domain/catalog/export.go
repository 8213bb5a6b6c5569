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
func (d *Document) JSON() ([]byte, error) { return encode(d.outline()) }

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("catalog: write JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalJSON writes the properties in their order.
func (m mapping) MarshalJSON() ([]byte, error) {
	b := []byte("{")
	for i, p := range m {
		value, err := encode(p.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, p.key), ':'), value...)
	}
	return append(b, '}'), nil
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
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
