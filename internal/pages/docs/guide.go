package docs

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
)

// guide is a guide in one language, ready to show.
type guide struct {
	Name, Title, Lead string

	Body     template.HTML
	Sections []section // the first one is what stands before all headings
}

// section is a heading and what stands below it.
type section struct {
	ID, Title string
	Level     int
	Text      string // without markup, for the search
}

// address is where a guide is shown.
func address(name string) string {
	if name == guides.Overview {
		return Path
	}
	return Path + "/" + name
}

// sampleServer is the address that guides and documents name; pages show that of the service instead.
const sampleServer = "http://127.0.0.1:8080"

// readGuide makes a guide. Headings have the ids of the English ones in every language, so that an address with an
// anchor works in each.
func (d *Docs) readGuide(name string, l text.Locale) (*guide, error) {
	content, err := guides.Read(name, l)
	if err != nil {
		return nil, err
	}
	content = bytes.ReplaceAll(content, []byte(sampleServer), []byte(d.site.PublicURL))
	var ids []string
	if l != text.English {
		english, err := d.readGuide(name, text.English)
		if err != nil {
			return nil, err
		}
		for _, s := range english.Sections[1:] {
			ids = append(ids, s.ID)
		}
	}
	g := &guide{Name: name}
	page := parseGuide(content)
	if list := page.LastChild(); name == guides.Overview && list.Kind() == ast.KindList {
		page.RemoveChild(page, list) // of all guides: the site shows them as cards
	}
	g.Sections = prepare(page, content, ids)
	if len(ids) > 0 && len(ids) != len(g.Sections)-1 {
		return nil, fmt.Errorf("guide %s: %d headings in %s, %d in English", name, len(g.Sections)-1, l, len(ids))
	}
	g.Title, g.Lead = g.takeHead(page, content)
	var b bytes.Buffer
	r := renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(html.NewRenderer(html.WithXHTML()), 1000),
		util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(&guideRenderer{locale: l, name: name, choose: d.site.Messages.T(l, "docs.language")}, 100)))
	if err := r.Render(&b, content, page); err != nil {
		return nil, err
	}
	g.Body = template.HTML(b.String()) //nolint:gosec // made from our own text by a renderer that escapes
	return g, nil
}

func parseGuide(content []byte) ast.Node {
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	return md.Parser().Parse(source.NewReader(content))
}

// takeHead removes title and first paragraph from the page, which the layout shows in its own way.
func (g *guide) takeHead(page ast.Node, content []byte) (title, lead string) {
	if first := page.FirstChild(); first != nil && first.Kind() == ast.KindHeading {
		title = plain(first, content)
		page.RemoveChild(page, first)
	}
	if first := page.FirstChild(); first != nil && first.Kind() == ast.KindParagraph {
		lead = plain(first, content)
		page.RemoveChild(page, first)
	}
	return title, lead
}

// shouted are the codes whose id, in lower case, is not the code. They can be linked to as they are written, too.
var shouted = regexp.MustCompile(`^[A-Z_]+$`)

// prepare gives headings their ids, links their addresses on the site and neighbouring code its tabs, and returns the
// sections.
func prepare(page ast.Node, content []byte, ids []string) []section {
	sections := []section{{}}
	for n := page.FirstChild(); n != nil; n = n.NextSibling() {
		last := &sections[len(sections)-1]
		if h, ok := n.(*ast.Heading); ok && h.Level > 1 {
			title := plain(h, content)
			id := slug(title)
			if i := len(sections) - 1; i < len(ids) {
				id = ids[i]
			}
			h.SetAttributeString("id", []byte(id))
			if shouted.MatchString(title) {
				h.SetAttributeString("as-written", []byte(title))
			}
			sections = append(sections, section{ID: id, Title: title, Level: h.Level})
			continue
		}
		if h, ok := n.(*ast.Heading); ok {
			last.Title = plain(h, content)
			continue
		}
		last.Text += plain(n, content) + "\n"
	}
	rewriteLinks(page)
	gatherTabs(page)
	return sections
}

func rewriteLinks(page ast.Node) {
	_ = ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			name, anchor, _ := strings.Cut(string(link.Destination), "#")
			if guideName, ok := strings.CutSuffix(name, ".md"); ok {
				name = address(guideName)
			}
			if anchor != "" {
				name += "#" + anchor
			}
			link.Destination = []byte(name)
		}
		return ast.WalkContinue, nil
	})
}

// slug is the id of a heading, as others make it who show Markdown.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain is the text of a node without markup.
func plain(n ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock || n.Kind() == extast.KindTableCell {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(content))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(content))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
