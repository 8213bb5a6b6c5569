package ui

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/text"
	"go.yaml.in/yaml/v3"
)

// Messages is the catalogue of all texts of the pages, in every language.
type Messages struct {
	byKey map[string]message
}

type message map[text.Locale]wording

// wording is a text in one language. Languages that tell one from many have both forms; which one is used is decided by
// the argument "n".
type wording struct {
	one, other string
}

// UnmarshalYAML reads a text, or a mapping of one and other.
func (w *wording) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		w.other = n.Value
		return nil
	}
	var forms struct {
		One   string `yaml:"one"`
		Other string `yaml:"other"`
	}
	if err := n.Decode(&forms); err != nil {
		return err
	}
	if forms.One == "" || forms.Other == "" {
		return fmt.Errorf("line %d: a text with forms needs both: one, other", n.Line)
	}
	w.one, w.other = forms.One, forms.Other
	return nil
}

// load reads messages/*.yaml of an area. The keys of a file are nested mappings; a leaf is a mapping of languages.
// Every leaf needs every language, with the same placeholders.
func (m *Messages) load(area string, files fs.FS) error {
	names, err := fs.Glob(files, "messages/*.yaml")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(data, &doc); err != nil {
			return fmt.Errorf("%s: %s: %w", area, name, err)
		}
		if doc.Kind == yaml.DocumentNode {
			err = m.add(area, doc.Content[0])
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", area, path.Base(name), err)
		}
	}
	return nil
}

func (m *Messages) add(key string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s is not a mapping of languages or of further keys", n.Line, key)
	}
	if isLeaf(n) {
		var msg message
		if err := n.Decode(&msg); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if _, ok := m.byKey[key]; ok {
			return fmt.Errorf("line %d: %s stands twice", n.Line, key)
		}
		m.byKey[key] = msg
		return msg.check(key)
	}
	var problems []error
	for i := 0; i < len(n.Content); i += 2 {
		problems = append(problems, m.add(key+"."+n.Content[i].Value, n.Content[i+1]))
	}
	return errors.Join(problems...)
}

// isLeaf reports whether the keys of a mapping are languages.
func isLeaf(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if _, ok := text.ParseLocale(n.Content[i].Value); ok {
			return true
		}
	}
	return false
}

func (msg message) check(key string) error {
	var problems []error
	for _, l := range text.Locales {
		if msg[l].other == "" {
			problems = append(problems, fmt.Errorf("%s has no text in %q", key, l))
		} else if want, got := placeholders(msg[text.English].other), placeholders(msg[l].other); !slices.Equal(want, got) {
			problems = append(problems, fmt.Errorf("%s: placeholders in %q are %v, in English %v", key, l, got, want))
		}
	}
	for l := range msg {
		if !slices.Contains(text.Locales, l) {
			problems = append(problems, fmt.Errorf("%s: unknown language %q", key, l))
		}
	}
	return errors.Join(problems...)
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

func placeholders(s string) []string {
	found := placeholder.FindAllString(s, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// Has reports whether there is a message with the key.
func (m *Messages) Has(key string) bool {
	_, ok := m.byKey[key]
	return ok
}

// Keys returns every key of an area, sorted.
func (m *Messages) Keys(area string) []string {
	var keys []string
	for key := range m.byKey {
		if strings.HasPrefix(key, area+".") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// T returns the text with the key. args are pairs of a placeholder's name and its value; numbers are grouped. A key
// that does not exist is returned itself: keys in templates are checked when the program starts.
func (m *Messages) T(l text.Locale, key string, args ...any) string {
	s, err := m.lookUp(l, key, args...)
	if err != nil {
		return key
	}
	return s
}

func (m *Messages) lookUp(l text.Locale, key string, args ...any) (string, error) {
	msg, ok := m.byKey[key]
	if !ok {
		return "", fmt.Errorf("there is no message %q", key)
	}
	if len(args)%2 != 0 {
		return "", fmt.Errorf("message %q: arguments are pairs of name and value", key)
	}
	w := msg[l]
	if len(args) == 0 {
		return w.other, nil
	}
	s, pairs := w.other, make([]string, 0, len(args))
	for i := 0; i < len(args); i += 2 {
		name := fmt.Sprint(args[i])
		if name == "n" && w.one != "" && isOne(args[i+1]) {
			s = w.one
		}
		pairs = append(pairs, "{"+name+"}", display(args[i+1]))
	}
	return strings.NewReplacer(pairs...).Replace(s), nil
}

func isOne(v any) bool { return fmt.Sprint(v) == "1" }

// display is the form of an argument in a text.
func display(v any) string {
	switch n := v.(type) {
	case int:
		return group(int64(n))
	case int64:
		return group(n)
	}
	return fmt.Sprint(v)
}

// group writes a whole number with separators between thousands, as both languages do.
func group(n int64) string {
	s := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
