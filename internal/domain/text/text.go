// Package text defines translated display texts.
package text

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/domain/enum"
)

// Locale is a supported display language.
type Locale string

// The supported locales. English is the canonical one and the fallback of every other.
const (
	English  Locale = "en"
	Japanese Locale = "ja"
)

// Locales lists the supported locales, the canonical one first.
var Locales = []Locale{English, Japanese}

// ParseLocale returns the locale named by s; the empty string is English.
func ParseLocale(s string) (Locale, bool) {
	return enum.Parse(cmp.Or(s, string(English)), Locales)
}

// Text is one display text. EN is always set; the others may be empty.
type Text struct {
	EN string `json:"en" yaml:"en"`
	JA string `json:"ja,omitempty" yaml:"ja,omitempty"`
}

// In returns the text in the locale, or in English where there is no translation.
func (t Text) In(l Locale) string {
	if l == Japanese && t.JA != "" {
		return t.JA
	}
	return t.EN
}

// IsStorable reports whether every database takes a text as it is: it is valid UTF-8 without NUL.
func IsStorable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// Storable returns text from outside in a form that every database takes, cut to a number of characters.
func Storable(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	for i := range s {
		if limit--; limit < 0 {
			return s[:i]
		}
	}
	return s
}

// Clip returns a text from outside, to be told back to who sent it, cut to a number of characters: the last one of a
// longer text is an ellipsis.
func Clip(s string, limit int) string {
	chars, cut := 0, 0
	for i := range s {
		if chars == limit-1 {
			cut = i
		}
		if chars++; chars > limit {
			return s[:cut] + "…"
		}
	}
	return s
}
