package docs

import (
	"bytes"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

var functions = template.FuncMap{
	"markdown":   markdown,
	"whole":      pageMarkdown,
	"code":       highlight,
	"request":    func(s *spec.Schema) table { return table{Fields: fieldsOf(s)} },
	"answer":     func(s *spec.Schema) table { return table{Fields: fieldsOf(s), Answer: true} },
	"parameters": func(p []*spec.Parameter) table { return table{Parameters: p} },
	"headers":    func(p []*spec.Parameter) table { return table{Parameters: p, Answer: true} },
	"describe":   describe,
	"lower":      strings.ToLower,
	"anchor":     anchor,
	"isError":    func(r *spec.Response) bool { return r.Status >= "400" && r.Status <= "599" },
	"isExample":  func(c []*spec.Content) bool { return len(c) > 0 && len(c[0].Examples) > 0 },
	"isAddition": isAddition,
	"splitParts": func(path string) []string { return strings.SplitAfter(path, "/") },
	"operation":  func(a apiDoc, op *spec.Operation) shown { return shown{API: a, Operation: op} },
	"try":        tryOf,
	"errorURL":   ui.ErrorURL,
}

// Descriptions are CommonMark with tables. Raw HTML in them is dropped by the renderer.
var descriptions = goldmark.New(goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(scrolledTables{}, 100))))

// scrolledTables wraps tables, which may be wider than the page.
type scrolledTables struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (scrolledTables) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(extast.KindTable, renderTable)
}

// pageMarkdown is the description of a whole document, whose headings are those of the page.
func pageMarkdown(words string) (template.HTML, error) {
	return markdown(heading.ReplaceAllString(words, "## $1"))
}

func markdown(words string) (template.HTML, error) { return markdownIn(words, text.English) }

// markdownIn renders words that are in a language.
func markdownIn(words string, l text.Locale) (template.HTML, error) {
	var b bytes.Buffer
	b.WriteString(`<div class="text" lang="` + string(l) + `">`)
	if err := descriptions.Convert([]byte(words), &b); err != nil {
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

// highlight returns JSON, indented and with its tokens marked.
func highlight(body []byte) template.HTML { return paint("json", ui.IndentedJSON(body)) }
