// Package docs serves the documentation for integrators: guides written in Markdown, the reference of the JSON
// interfaces made from the OpenAPI documents, a search over both, and the documents themselves. All of it can be read
// without scripts. Nothing is made before it is asked for.
package docs

import (
	"embed"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"github.com/assayhq/assay/docs/guides"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

// Path is where the overview is; everything else is below.
const Path = "/docs"

//go:embed templates messages static
var files embed.FS

// Area is the pages, for ui.New.
var Area = ui.Area{Name: "docs", Files: files}

// Docs serves the documentation.
type Docs struct {
	site  *ui.Site
	pages *ui.Pages

	made      kept[version, *page]
	resources kept[string, resource]
	indexes   kept[text.Locale, []entry]
}

// kept is what is made when it is asked for, and kept then.
type kept[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]V
}

func (k *kept[K, V]) get(key K, newValue func(K) (V, error)) (V, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.made[key]; ok {
		return v, nil
	}
	v, err := newValue(key)
	if err != nil {
		return v, err
	}
	if k.made == nil {
		k.made = make(map[K]V)
	}
	k.made[key] = v
	return v, nil
}

// version is a page in a language.
type version struct {
	path   string
	locale text.Locale
}

// page is what stands between the navigation of the site and that of the page. It is the same for everybody, and kept
// once it is made.
type page struct {
	Title, Lead string
	English     bool // the texts are English, whatever the language of the page
	Body        template.HTML
	Sections    []link
	Markdown    string // where the text is as it was written; empty: nowhere
}

// link leads somewhere.
type link struct {
	Href, Label string
	Method      string // of an operation
	Level       int
	Current     bool
}

// New returns the pages over a site that was made with Area.
func New(site *ui.Site) *Docs {
	d := &Docs{site: site, pages: site.Pages(Area.Name)}
	d.pages.Shell = d.shell
	return d
}

// Routes mounts the pages and the documents beside them.
func (d *Docs) Routes(mux *http.ServeMux) {
	for _, path := range d.Pages() {
		mux.Handle(path, d.reading(d.show))
	}
	mux.Handle(Path+"/{$}", d.reading(d.show))
	mux.Handle(searchPath, d.reading(d.search))
	for _, name := range guides.Names() {
		mux.Handle(markdownAddress(name), d.reading(d.markdown))
	}
	for path := range resources {
		mux.Handle(path, d.reading(d.document))
	}
}

// Pages are the addresses of all pages but the search.
func (d *Docs) Pages() []string {
	var out []string
	for _, name := range guides.Names() {
		out = append(out, address(name))
	}
	out = append(out, referencePath, deskPath)
	for _, tag := range tags {
		out = append(out, tagPath(tag))
	}
	return out
}

// reading refuses to do anything but read.
func (d *Docs) reading(h func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return d.pages.Handle(func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
			return nil
		}
		return h(w, r)
	})
}

// shell is the slim navigation: what people look for most.
func (d *Docs) shell(r *http.Request) ui.Shell {
	t := func(key string) string { return d.site.T(r, key) }
	return ui.Shell{
		Label: t("docs.area"), Home: Path,
		Groups: []ui.NavGroup{{Items: []ui.NavItem{
			{Href: Path, Label: t("docs.nav.guides"), Icon: "book"},
			{Href: referencePath, Label: t("docs.nav.reference"), Icon: "document"},
			{Href: address("errors"), Label: t("docs.nav.errors"), Icon: "alert"},
			{Href: searchPath, Label: t("docs.nav.search"), Icon: "search"},
			{Href: "/portal", Label: t("docs.nav.portal"), Icon: "home"},
		}}},
	}
}

// view is what the page shows.
type view struct {
	*page
	Contents       []contents
	Previous, Next *link
	Query          string
}

func (d *Docs) show(w http.ResponseWriter, r *http.Request) error {
	path, l := strings.TrimSuffix(r.URL.Path, "/"), ui.LocaleOf(r)
	p, err := d.made.get(version{path, l}, d.newPage)
	if err != nil {
		return err
	}
	v := view{page: p, Contents: d.contents(path, l)}
	v.Previous, v.Next = neighbours(v.Contents)
	return d.pages.Render(w, r, ui.Page{Template: "page", Data: v, Wide: true})
}

func (d *Docs) newPage(v version) (*page, error) {
	for _, name := range guides.Names() {
		if address(name) == v.path {
			return d.guidePage(name, v.locale)
		}
	}
	switch v.path {
	case referencePath:
		return d.referencePage(v.locale)
	case deskPath:
		return d.deskPage(v.locale)
	}
	for _, tag := range tags {
		if tagPath(tag) == v.path {
			return d.tagPage(tag, v.locale)
		}
	}
	return nil, ui.PageNotFound()
}

func (d *Docs) guidePage(name string, l text.Locale) (*page, error) {
	g, err := d.readGuide(name, l)
	if err != nil {
		return nil, err
	}
	p := &page{Title: g.Title, Lead: g.Lead, Body: g.Body, Markdown: markdownAddress(name)}
	if name == guides.Overview {
		cards, err := d.cards(l)
		if err != nil {
			return nil, err
		}
		p.Body += cards
	}
	for _, s := range g.Sections[1:] {
		if s.Level == 2 || name == "errors" && s.Level == 3 {
			p.Sections = append(p.Sections, link{Href: "#" + s.ID, Label: s.Title, Level: s.Level})
		}
	}
	return p, nil
}

// contents is a part of the navigation of the site.
type contents struct {
	Label string
	Links []link
}

// contents are all pages, with the one at the path marked.
func (d *Docs) contents(path string, l text.Locale) []contents {
	var out []contents
	for i, g := range guides.Groups {
		c := contents{Label: d.t(l, "docs.group."+g.Name)}
		if i == 0 {
			c.Links = append(c.Links, link{Href: Path, Label: d.t(l, "docs.overview")})
		}
		for _, name := range g.Guides {
			c.Links = append(c.Links, link{Href: address(name), Label: guideTitle(name, l)})
		}
		out = append(out, c)
	}
	reference := contents{Label: d.t(l, "docs.nav.reference")}
	reference.Links = append(reference.Links, link{Href: referencePath, Label: d.t(l, "docs.reference.short")})
	for _, tag := range tags {
		reference.Links = append(reference.Links, link{Href: tagPath(tag), Label: d.tagName(tag, l)})
	}
	reference.Links = append(reference.Links, link{Href: deskPath, Label: d.t(l, "docs.nav.desk")})
	out = append(out, reference)
	for i := range out {
		for j := range out[i].Links {
			out[i].Links[j].Current = out[i].Links[j].Href == path
		}
	}
	return out
}

// guideTitle is the first line of a guide.
func guideTitle(name string, l text.Locale) string {
	content, err := guides.Read(name, l)
	if err != nil {
		return name
	}
	first, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimPrefix(first, "# ")
}

// neighbours are the pages before and after the current one.
func neighbours(all []contents) (previous, next *link) {
	var links []link
	for _, c := range all {
		links = append(links, c.Links...)
	}
	for i := range links {
		if !links[i].Current {
			continue
		}
		if i > 0 {
			previous = &links[i-1]
		}
		if i+1 < len(links) {
			next = &links[i+1]
		}
	}
	return previous, next
}

// card leads to a guide and tells what it is about.
type card struct{ Href, Title, Lead string }

// cards are the guides, for the overview.
func (d *Docs) cards(l text.Locale) (template.HTML, error) {
	var out []card
	for _, name := range guides.Names()[1:] {
		g, err := d.readGuide(name, l)
		if err != nil {
			return "", err
		}
		out = append(out, card{address(name), g.Title, g.Lead})
	}
	return d.fragment("cards.html", l, out)
}
