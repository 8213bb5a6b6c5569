package ui

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
)

// Pages renders the pages of one area.
type Pages struct {
	// Shell returns the navigation around the pages, for the visitor of a request. Nil, or a zero Shell: none, as for
	// sign-in and public pages. It is set before the first request.
	Shell func(r *http.Request) Shell

	site     *Site
	name     string
	used     literals
	byLocale map[text.Locale]map[string]*template.Template
}

// Within returns the pages with another shell: for pages that several audiences share.
func (p *Pages) Within(shell func(r *http.Request) Shell) *Pages {
	within := *p
	within.Shell = shell
	return &within
}

// Site returns the site that the pages belong to.
func (p *Pages) Site() *Site { return p.site }

// Page is one page to show.
type Page struct {
	Template string // name of the file below templates/, without .html
	Data     any    // what the template's blocks get as dot
	Status   int    // 0 is 200
	Wide     bool   // uses the whole width, with a slim navigation: for pages that are tools
}

// view is what the layout gets as dot.
type view struct {
	Page
	Area      string
	Theme     string
	Shell     Shell
	Flashes   []Flash
	Path      string // where this page is, for the switches of language and theme
	Languages []languageLink
}

// Render answers with a page. Nothing is sent when the template fails.
func (p *Pages) Render(w http.ResponseWriter, r *http.Request, page Page) error {
	locale := LocaleOf(r)
	t, ok := p.byLocale[locale][page.Template]
	if !ok {
		return fmt.Errorf("there is no page %q in area %s", page.Template, p.name)
	}
	v := view{
		Page: page, Area: p.name, Theme: themeOf(r), Flashes: p.site.takeFlashes(w, r), Path: r.URL.RequestURI(),
		Languages: languageLinks(r),
	}
	if p.Shell != nil {
		v.Shell = p.Shell(r)
		v.Shell.markCurrent(r.URL.Path)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout", v); err != nil {
		return fmt.Errorf("page %s/%s: %w", p.name, page.Template, err)
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Language", string(locale))
	header.Set("Content-Length", strconv.Itoa(b.Len()))
	header.Add("Vary", "Cookie, Accept-Language")
	w.WriteHeader(max(page.Status, http.StatusOK))
	_, _ = w.Write(b.Bytes()) // a client that is gone is no failure
	return nil
}

// Fragment renders one block of a page without the layout, for scripts that replace a part of it.
func (p *Pages) Fragment(w http.ResponseWriter, r *http.Request, page, block string, data any) error {
	t, ok := p.byLocale[LocaleOf(r)][page]
	if !ok {
		return fmt.Errorf("there is no page %q in area %s", page, p.name)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, block, data); err != nil {
		return fmt.Errorf("page %s/%s, block %s: %w", p.name, page, block, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
	return nil
}

// Handle adapts a handler to net/http. Its error becomes an error page in the area's layout.
func (p *Pages) Handle(h httpx.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Pattern != "" {
			httpx.SetRoute(r.Context(), r.Pattern)
		}
		rec := httpx.Record(w)
		err := h(rec, r)
		switch {
		case err == nil:
		case rec.Begun():
			p.site.logError(r, err)
			panic(http.ErrAbortHandler) // the client must not take a part for the whole
		default:
			p.showError(rec, r, err)
		}
	})
}

// parsePages parses each page together with the base and the area's shared templates.
func (p *Pages) parsePages(base *template.Template, files fs.FS) (map[string]*template.Template, error) {
	pages := make(map[string]*template.Template)
	var names []string
	err := fs.WalkDir(files, "templates", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	shared := func(name string) bool { return strings.HasPrefix(name, "templates/shared/") }
	parseFile := func(t *template.Template, name string) error {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if _, err := t.New(name).Parse(string(content)); err != nil {
			return err
		}
		return nil
	}
	if p.name != "ui" { // whose shared templates are the base
		for _, name := range slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !shared(n) }) {
			if err := parseFile(base, name); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range names {
		if shared(name) {
			continue
		}
		t, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if err := parseFile(t, name); err != nil {
			return nil, err
		}
		for _, one := range t.Templates() {
			if one.Tree != nil {
				p.used.collect(one.Tree.Root)
			}
		}
		pages[strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = t
	}
	return pages, nil
}

// UsedKeys returns the message keys that the templates of the area name, for tests.
func (p *Pages) UsedKeys() map[string]bool { return maps.Clone(p.used["t"]) }

// literals are the names that templates call functions with, by function: what {{t "key"}}, {{asset "name"}} and
// {{icon "name"}} name has to exist.
type literals map[string]map[string]bool

func (used literals) add(function, literal string) {
	if used[function] == nil {
		used[function] = make(map[string]bool)
	}
	used[function][literal] = true
}

// collect finds the calls below a node.
func (used literals) collect(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				used.collect(child)
			}
		}
	case *parse.ActionNode:
		used.collect(n.Pipe)
	case *parse.TemplateNode:
		used.collect(n.Pipe)
	case *parse.IfNode:
		used.branch(&n.BranchNode)
	case *parse.RangeNode:
		used.branch(&n.BranchNode)
	case *parse.WithNode:
		used.branch(&n.BranchNode)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, cmd := range n.Cmds {
			if id, ok := cmd.Args[0].(*parse.IdentifierNode); ok && len(cmd.Args) > 1 {
				if literal, ok := cmd.Args[1].(*parse.StringNode); ok {
					used.add(id.Ident, literal.Text)
				}
			}
			for _, arg := range cmd.Args {
				used.collect(arg)
			}
		}
	}
}

func (used literals) branch(n *parse.BranchNode) {
	used.collect(n.Pipe)
	used.collect(n.List)
	used.collect(n.ElseList)
}
