package ui

import (
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/assayhq/assay/internal/domain/text"
)

// templates are the templates of an area. All are parsed at the start, to refuse what is wrong, but none is kept: a
// page is made with its layout and components when it is first shown in a language, because most servers are asked for
// few of their pages, and the trees of all take more memory than everything else in an idle server.
type templates struct {
	site   *Site
	area   string
	files  fs.FS
	shared []string        // files
	pages  map[string]bool // names
	used   literals

	mu   sync.Mutex
	base map[text.Locale]*template.Template // the layout, the components and what the pages of the area share
	made map[pageIn]*template.Template
}

type pageIn struct {
	locale text.Locale
	name   string
}

// newTemplates checks the templates of an area.
func (s *Site) newTemplates(a Area) (*templates, error) {
	t := &templates{
		site: s, area: a.Name, files: a.Files, pages: make(map[string]bool), used: make(literals),
		base: make(map[text.Locale]*template.Template), made: make(map[pageIn]*template.Template),
	}
	funcs := (&functions{site: s, locale: text.English}).all()
	err := fs.WalkDir(a.Files, "templates", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		if strings.HasPrefix(name, "templates/shared/") {
			t.shared = append(t.shared, name)
		} else {
			t.pages[strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")] = true
		}
		parsed := template.New("").Funcs(funcs)
		if err := t.parse(parsed, name); err != nil {
			return err
		}
		for _, one := range parsed.Templates() {
			if one.Tree != nil {
				t.used.collect(one.Tree.Root)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, s.check(t.used)
}

// parse adds a file to a set of templates.
func (t *templates) parse(into *template.Template, name string) error {
	content, err := fs.ReadFile(t.files, name)
	if err != nil {
		return err
	}
	_, err = into.New(name).Parse(string(content))
	return err
}

// page returns a page in a language. Texts are bound when a template is parsed, so each language has its own.
func (t *templates) page(l text.Locale, name string) (*template.Template, error) {
	if !t.pages[name] {
		return nil, fmt.Errorf("there is no page %q in area %s", name, t.area)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if made, ok := t.made[pageIn{l, name}]; ok {
		return made, nil
	}
	base, err := t.baseIn(l)
	if err != nil {
		return nil, err
	}
	made, err := base.Clone()
	if err != nil {
		return nil, err
	}
	if err := t.parse(made, "templates/"+name+".html"); err != nil {
		return nil, err
	}
	t.made[pageIn{l, name}] = made
	return made, nil
}

// baseIn returns what every page of the area begins with.
func (t *templates) baseIn(l text.Locale) (*template.Template, error) {
	if base, ok := t.base[l]; ok {
		return base, nil
	}
	f := &functions{site: t.site, locale: l}
	base, err := template.New("base").Funcs(f.all()).Option("missingkey=error").
		ParseFS(ownFiles, "templates/shared/*.html")
	if err != nil {
		return nil, err
	}
	if f.components, err = base.Clone(); err != nil { // executed by functions; what is executed cannot be cloned any more
		return nil, err
	}
	if t.area != ownArea { // whose shared templates are there
		for _, name := range slices.Sorted(slices.Values(t.shared)) {
			if err := t.parse(base, name); err != nil {
				return nil, err
			}
		}
	}
	t.base[l] = base
	return base, nil
}

// UsedKeys returns the message keys that the templates of the area name, for tests.
func (p *Pages) UsedKeys() map[string]bool { return maps.Clone(p.templates.used["t"]) }

// literals are the names that templates call functions with, by function: what {{t "key"}}, {{asset "name"}} (or
// style, or script) and {{icon "name"}} name has to exist.
type literals map[string]map[string]bool

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
					if used[id.Ident] == nil {
						used[id.Ident] = make(map[string]bool)
					}
					used[id.Ident][literal.Text] = true
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
