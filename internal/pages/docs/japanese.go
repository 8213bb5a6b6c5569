package docs

import (
	_ "embed" // the words
	"html/template"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/domain/text"
)

// wording is what an operation does, in another language than that of its document.
type wording struct{ Summary, About string }

// summary is the name of an operation in a language.
func summary(op *spec.Operation, l text.Locale) string {
	if w, ok := japaneseOperations()[op.ID]; ok && l == text.Japanese {
		return w.Summary
	}
	return op.Summary
}

// about says in a sentence or two what an operation does, in a language that its description is not written in.
func about(op *spec.Operation, l text.Locale) string {
	if l == text.Japanese {
		return japaneseOperations()[op.ID].About
	}
	return ""
}

var (
	//go:embed japanese_operations.yaml
	japaneseOperationSource []byte
	//go:embed japanese_fields.yaml
	japaneseFieldSource []byte
)

// japaneseOperations are the operations and events by their ids; japaneseFields are descriptions of parameters, fields
// and headers by their English words. Tests find errors in them, and what they lack.
var (
	japaneseOperations = words[wording](japaneseOperationSource)
	japaneseFields     = words[string](japaneseFieldSource)
)

// words returns what reads a file of words, once.
func words[T any](source []byte) func() map[string]T {
	return sync.OnceValue(func() map[string]T {
		read := make(map[string]T)
		if err := yaml.Unmarshal(source, &read); err != nil {
			panic("docs: " + err.Error())
		}
		return read
	})
}

// fieldWords is the description of a parameter, field or header in a language, or else in English.
func fieldWords(description string, l text.Locale) string {
	if words, ok := japaneseFields()[strings.TrimSpace(description)]; ok && l == text.Japanese {
		return words
	}
	return description
}

// fieldText is fieldWords as HTML.
func fieldText(description string, l text.Locale) (template.HTML, error) {
	words := fieldWords(description, l)
	if words == description {
		l = text.English
	}
	return markdownIn(words, l)
}

// termWords say types and rules in Japanese. They are applied one after the other.
var termWords = []struct {
	pattern *regexp.Regexp
	words   string
}{
	{regexp.MustCompile(`^array of (.+?)s?( or null)?$`), "$1 の配列$2"},
	{regexp.MustCompile(` or null$`), " または null"},
	{regexp.MustCompile(`^at most (\S+) characters$`), "$1 文字以下"},
	{regexp.MustCompile(`^at least (\S+) characters$`), "$1 文字以上"},
	{regexp.MustCompile(`^exactly (\S+) characters$`), "$1 文字"},
	{regexp.MustCompile(`^(\S+) to (\S+) characters$`), "$1〜$2 文字"},
	{regexp.MustCompile(`^at most (\S+) entries$`), "$1 件以下"},
	{regexp.MustCompile(`^at least (\S+) entries$`), "$1 件以上"},
	{regexp.MustCompile(`^exactly (\S+) entries$`), "$1 件"},
	{regexp.MustCompile(`^(\S+) to (\S+) entries$`), "$1〜$2 件"},
	{regexp.MustCompile(`^at most (\S+)$`), "$1 以下"},
	{regexp.MustCompile(`^at least (\S+)$`), "$1 以上"},
	{regexp.MustCompile(`^(\S+) to (\S+)$`), "$1〜$2"},
	{regexp.MustCompile(`^default (\S+)$`), "既定値 $1"},
	{regexp.MustCompile(`^not empty$`), "空は不可"},
	{regexp.MustCompile(`^no repeats$`), "重複不可"},
	{regexp.MustCompile(`^never returned$`), "返されません"},
}

// term says a type or a rule in a language.
func term(words string, l text.Locale) string {
	if l != text.Japanese {
		return words
	}
	for _, w := range termWords {
		words = w.pattern.ReplaceAllString(words, w.words)
	}
	return words
}
