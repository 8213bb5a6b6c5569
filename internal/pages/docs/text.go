package docs

import (
	"bytes"
	"encoding/json"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/assayhq/assay/api/spec"
)

var functions = template.FuncMap{
	"markdown":   markdown,
	"code":       highlight,
	"request":    func(s *spec.Schema) table { return table{Fields: fieldsOf(s)} },
	"answer":     func(s *spec.Schema) table { return table{Fields: fieldsOf(s), Answer: true} },
	"describe":   describe,
	"sample":     sampleOf,
	"lower":      strings.ToLower,
	"anchor":     anchor,
	"sections":   sectionsOf,
	"isError":    func(r *spec.Response) bool { return r.Status >= "400" && r.Status <= "599" },
	"isExample":  func(c []*spec.Content) bool { return len(c) > 0 && len(c[0].Examples) > 0 },
	"splitParts": func(path string) []string { return strings.SplitAfter(path, "/") },
	"operation":  func(p page, op *spec.Operation) shown { return shown{Page: p, Operation: op} },
}

// shown is an operation on its page.
type shown struct {
	Page      page
	Operation *spec.Operation
}

// Descriptions are CommonMark with tables. Raw HTML in them is dropped by the renderer.
var descriptions = goldmark.New(goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func markdown(text string) (template.HTML, error) {
	var b bytes.Buffer
	b.WriteString(`<div class="text" lang="en">`)
	if err := descriptions.Convert([]byte(text), &b); err != nil {
		return "", err
	}
	b.WriteString(`</div>`)
	return template.HTML(b.String()), nil //nolint:gosec // made from our own documents by a renderer that escapes
}

var (
	heading  = regexp.MustCompile(`(?m)^### (.+)$`)
	notPlain = regexp.MustCompile(`[^a-z0-9]+`)
)

// sectionsOf returns the headings of a description, for the navigation.
func sectionsOf(description string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(description, -1) {
		out = append(out, m[1])
	}
	return out
}

// anchor is the id of a heading, as the renderer of descriptions makes it.
func anchor(title string) string {
	return strings.Trim(notPlain.ReplaceAllString(strings.ToLower(title), "-"), "-")
}

func indent(body []byte) (string, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		return "", err
	}
	return b.String(), nil
}

// token finds what is coloured in JSON: a string, with the colon that makes it a name, a word or a number.
var token = regexp.MustCompile(`("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\b\d+(?:\.\d+)?\b`)

// highlight returns JSON, indented and with its tokens marked.
func highlight(body []byte) (template.HTML, error) {
	text, err := indent(body)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	end := 0
	for _, m := range token.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[end:m[0]]))
		class := "lit"
		last := m[1]
		switch {
		case m[4] >= 0:
			class, last = "key", m[3]
		case m[2] >= 0:
			class = "str"
		}
		b.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(text[m[0]:last]) + `</span>`)
		b.WriteString(template.HTMLEscapeString(text[last:m[1]]))
		end = m[1]
	}
	b.WriteString(template.HTMLEscapeString(text[end:]))
	return template.HTML(b.String()), nil //nolint:gosec // everything from the document is escaped above
}
