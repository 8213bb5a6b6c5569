package docs

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
)

// kindTabs is the kind of tabs: pieces of code that say the same in several languages.
var kindTabs = ast.NewNodeKind("Tabs")

type tabs struct{ ast.BaseBlock }

// Kind implements ast.Node.
func (*tabs) Kind() ast.NodeKind { return kindTabs }

// Dump implements ast.Node.
func (t *tabs) Dump(content []byte, level int) { ast.DumpHelper(t, content, level, nil, nil) }

// gatherTabs puts pieces of code that follow each other, each in another language of samples, into tabs.
func gatherTabs(page ast.Node) {
	for n := page.FirstChild(); n != nil; n = n.NextSibling() {
		var found []ast.Node
		for m := n; m != nil && isSample(m); m = m.NextSibling() {
			found = append(found, m)
		}
		if len(found) < 2 {
			continue
		}
		t := &tabs{}
		page.InsertBefore(page, n, t)
		for _, m := range found {
			page.RemoveChild(page, m)
			t.AppendChild(t, m)
		}
		n = t
	}
}

func isSample(n ast.Node) bool {
	code, ok := n.(*ast.FencedCodeBlock)
	return ok && code.Info != nil && n.Attributes() == nil && code.Lines().Len() > 0
}

// guideRenderer shows what the site shows in its own way.
type guideRenderer struct {
	locale text.Locale
	name   string
	choose string // label of tabs
	tabs   int
}

// RegisterFuncs implements renderer.NodeRenderer.
func (g *guideRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, g.code)
	r.Register(kindTabs, g.tabGroup)
	r.Register(ast.KindHeading, g.heading)
	r.Register(ast.KindImage, g.image)
	r.Register(extast.KindTable, renderTable)
	r.Register(ast.KindBlockquote, g.note)
}

func write(w util.BufWriter, parts ...string) {
	for _, p := range parts {
		_, _ = w.WriteString(p) // a buffer in memory
	}
}

func (g *guideRenderer) code(w util.BufWriter, content []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		code := n.(*ast.FencedCodeBlock)
		language, _, _ := strings.Cut(string(code.Language(content)), " ")
		write(w, codeBlock(language, string(code.Lines().Value(content))))
	}
	return ast.WalkSkipChildren, nil
}

func (g *guideRenderer) tabGroup(w util.BufWriter, content []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	g.tabs++
	var samples []codeTab
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		code := c.(*ast.FencedCodeBlock)
		samples = append(samples, codeTab{string(code.Language(content)), string(code.Lines().Value(content))})
	}
	write(w, tabbed(g.choose, fmt.Sprintf("%s-%d", g.name, g.tabs), samples))
	return ast.WalkSkipChildren, nil
}

func (g *guideRenderer) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	id, _ := h.AttributeString("id")
	name, _ := id.([]byte)
	if entering {
		write(w, fmt.Sprintf(`<h%d id="%s">`, h.Level, name))
		if written, ok := h.AttributeString("as-written"); ok {
			write(w, fmt.Sprintf(`<span id="%s"></span>`, written))
		}
		write(w, fmt.Sprintf(`<a class="self" href="#%s">`, name))
	} else {
		write(w, fmt.Sprintf("</a></h%d>\n", h.Level))
	}
	return ast.WalkContinue, nil
}

var styleOfDrawing = regexp.MustCompile(`(?s)<style>.*?</style>\s*`)

// image puts a drawing into the page, where it has the colours of the theme.
func (g *guideRenderer) image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		drawing, err := guides.File(string(n.(*ast.Image).Destination), g.locale)
		if err != nil {
			return ast.WalkStop, err
		}
		write(w, `<span class="diagram">`, styleOfDrawing.ReplaceAllString(string(drawing), ""), `</span>`)
	}
	return ast.WalkSkipChildren, nil
}

func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		write(w, `<div class="scroll"><table>`)
	} else {
		write(w, "</table></div>\n")
	}
	return ast.WalkContinue, nil
}

func (g *guideRenderer) note(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		write(w, `<aside class="callout">`)
	} else {
		write(w, "</aside>\n")
	}
	return ast.WalkContinue, nil
}

// codeTab is one piece of code of several that say the same.
type codeTab struct{ Language, Code string }

// tabbed shows one piece of code at a time. The choice is a radio button, so it needs no script.
func tabbed(label, id string, samples []codeTab) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<div class="tabbed"><div class="tabs" role="radiogroup" aria-label="%s">`,
		template.HTMLEscapeString(label))
	for i, s := range samples {
		checked := ""
		if i == 0 {
			checked = " checked"
		}
		fmt.Fprintf(&b, `<label><input type="radio" name="tab-%s" value="%s"%s><span>%s</span></label>`,
			id, s.Language, checked, template.HTMLEscapeString(languageName(s.Language)))
	}
	b.WriteString("</div>")
	for _, s := range samples {
		b.WriteString(`<div class="panel" data-language="` + s.Language + `">` + codeBlock(s.Language, s.Code) + `</div>`)
	}
	b.WriteString("</div>\n")
	return b.String()
}

func codeBlock(language, code string) string {
	painted := paint(language, strings.TrimRight(code, "\n"))
	return `<div class="sample"><pre><code>` + string(painted) + "</code></pre></div>\n"
}

// languages are those of samples, in the order of their tabs.
var languages = []struct{ Name, Label string }{
	{"sh", "curl"},
	{"go", "Go"},
	{"ts", "TypeScript"},
	{"python", "Python"},
	{"php", "PHP"},
	{"ruby", "Ruby"},
}

func languageName(name string) string {
	for _, l := range languages {
		if l.Name == name {
			return l.Label
		}
	}
	return name
}

// grammar finds comments, strings, words and numbers of a language, as far as colours need it.
func grammar(comment, words string) *regexp.Regexp {
	return regexp.MustCompile(`(` + comment + `)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `)|\b(` + words +
		`)\b|(-?\b\d+(?:\.\d+)?\b)`)
}

const never = `\x00`

var grammars = map[string]*regexp.Regexp{
	"sh": grammar(`(?m:(?:^|\s)#.*$)`, `curl|export|jq|if|then|fi|for|do|done|while`),
	"go": grammar(`//.*`, `package|import|func|return|if|else|for|range|var|const|type|struct|switch|case|default|`+
		`defer|go|nil|true|false|error|string`),
	"ts": grammar(`//.*`, `import|from|export|const|let|async|await|function|return|if|else|for|of|new|throw|try|catch|`+
		`null|undefined|true|false`),
	"python": grammar(`(?m:(?:^|\s)#.*$)`, `import|from|def|return|if|elif|else|for|in|with|as|not|and|or|while|try|`+
		`except|raise|lambda|None|True|False|print`),
	"php": grammar(`//.*`, `function|return|if|else|foreach|as|echo|null|true|false|new|array|string|int|bool`),
	"ruby": grammar(`(?m:(?:^|\s)#.*$)`, `require|def|end|return|unless|if|else|do|puts|nil|true|false|each|class|`+
		`module`),
	"json": grammar(never, `true|false|null`),
}

// paint marks up code with colours.
func paint(language, code string) template.HTML {
	g := grammars[language]
	if g == nil {
		return template.HTML(template.HTMLEscapeString(code)) //nolint:gosec // escaped
	}
	var b strings.Builder
	end := 0
	for _, m := range g.FindAllStringSubmatchIndex(code, -1) {
		b.WriteString(template.HTMLEscapeString(code[end:m[0]]))
		class := "lit"
		switch {
		case m[2] >= 0:
			class = "comment"
		case m[4] >= 0 && language == "json" && strings.HasPrefix(strings.TrimLeft(code[m[1]:], " "), ":"):
			class = "key"
		case m[4] >= 0:
			class = "str"
		case m[6] >= 0:
			class = "word"
		}
		b.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(code[m[0]:m[1]]) + `</span>`)
		end = m[1]
	}
	b.WriteString(template.HTMLEscapeString(code[end:]))
	return template.HTML(b.String()) //nolint:gosec // everything is escaped above
}
