package docs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/domain/text"
)

// Addresses of the reference.
const (
	referencePath = Path + "/reference"
	deskPath      = Path + "/desk"
)

// tags are the parts of the integration API; each has a page. A test compares them with the document.
var tags = []string{"Catalog", "Photos", "Orders", "Account", "Webhooks", "Document"}

func tagPath(tag string) string { return referencePath + "/" + strings.ToLower(tag) }

// operationPath is where an operation, or an event, of the integration API is shown.
func operationPath(op *spec.Operation) string { return tagPath(op.Tag) + "#" + op.ID }

// fragments are the templates of the reference, which have functions of their own.
//
//go:embed reference/*.html
var fragments embed.FS

func integrationAPI(publicURL string) apiDoc {
	d := *api.Integration()
	d.Server = strings.TrimSuffix(publicURL, "/") + api.IntegrationPrefix
	return apiDoc{Document: &d, Variable: "ASSAY_KEY", Clients: true}
}

func deskAPI(publicURL string) apiDoc {
	d := *api.Desk()
	d.Server = strings.TrimSuffix(publicURL, "/") + api.DeskPrefix
	return apiDoc{Document: &d, Variable: "ASSAY_STAFF_TOKEN"}
}

// Samples returns the samples of every operation of both APIs of the service at a public URL.
func Samples(publicURL string) (integration, desk []Sample, err error) {
	for _, a := range []struct {
		apiDoc
		into *[]Sample
	}{{integrationAPI(publicURL), &integration}, {deskAPI(publicURL), &desk}} {
		for _, op := range a.Operations {
			samples, err := samplesOf(a.apiDoc, op)
			if err != nil {
				return nil, nil, err
			}
			*a.into = append(*a.into, samples...)
		}
	}
	return integration, desk, nil
}

// group is the operations of one tag.
type group struct {
	spec.Tag
	API        apiDoc
	Path       string // of the page that shows them
	Operations []*spec.Operation
	Webhooks   []*spec.Operation
}

func groupsOf(a apiDoc, path func(tag string) string) []group {
	var out []group
	for _, tag := range a.Tags {
		g := group{Tag: tag, API: a, Path: path(tag.Name)}
		for _, op := range a.Operations {
			if op.Tag == tag.Name {
				g.Operations = append(g.Operations, op)
			}
		}
		for _, op := range a.Webhooks {
			if op.Tag == tag.Name {
				g.Webhooks = append(g.Webhooks, op)
			}
		}
		out = append(out, g)
	}
	return out
}

// shown is an operation on its page.
type shown struct {
	API apiDoc
	*spec.Operation
}

// Addition reports whether the operation goes beyond the contract.
func (s shown) Addition() bool { return isAddition(s.Description) }

// Text is the description without the mark of an addition, which is shown as a badge.
func (s shown) Text() string { return strings.TrimPrefix(s.Description, addition) }

const addition = "*Addition.* "

func isAddition(description string) bool { return strings.HasPrefix(description, addition) }

// referencePage is what holds for all operations, and the list of them.
func (d *Docs) referencePage(l text.Locale) (*page, error) {
	a := integrationAPI(d.site.PublicURL)
	body, err := d.fragment("overview.html", l, struct {
		apiDoc
		Groups    []group
		Downloads []link
	}{a, groupsOf(a, tagPath), d.downloads(l)})
	if err != nil {
		return nil, err
	}
	p := &page{Title: d.t(l, "docs.reference.title"), Lead: d.t(l, "docs.reference.lead"), Body: body, English: true}
	p.Sections = append(p.Sections, link{Href: "#operations", Label: d.t(l, "docs.operations"), Level: 2},
		link{Href: "#downloads", Label: d.t(l, "docs.downloads"), Level: 2})
	for _, s := range sectionsOf(a.Description) {
		p.Sections = append(p.Sections, link{Href: "#" + anchor(s), Label: s, Level: 2})
	}
	return p, nil
}

// downloads are the documents, for tools.
func (d *Docs) downloads(l text.Locale) []link {
	return []link{
		{Href: Path + "/openapi.json", Label: d.t(l, "docs.download.json")},
		{Href: Path + "/openapi.yaml", Label: d.t(l, "docs.download.yaml")},
		{Href: Path + "/openapi-3.0.json", Label: d.t(l, "docs.download.json30")},
		{Href: Path + "/postman.json", Label: d.t(l, "docs.download.postman")},
		{Href: Path + "/desk.json", Label: d.t(l, "docs.download.desk_json")},
		{Href: Path + "/desk.yaml", Label: d.t(l, "docs.download.desk_yaml")},
	}
}

// tagPage shows the operations of one tag of the integration API.
func (d *Docs) tagPage(tag string, l text.Locale) (*page, error) {
	for _, g := range groupsOf(integrationAPI(d.site.PublicURL), tagPath) {
		if g.Name == tag {
			return d.groupPage(d.tagName(tag, l), []group{g}, l)
		}
	}
	return nil, fmt.Errorf("the document has no tag %s", tag)
}

// deskPage shows all operations of the desk.
func (d *Docs) deskPage(l text.Locale) (*page, error) {
	a := deskAPI(d.site.PublicURL)
	groups := groupsOf(a, func(string) string { return deskPath })
	p, err := d.groupPage(d.t(l, "docs.nav.desk"), groups, l)
	if err != nil {
		return nil, err
	}
	intro, err := d.fragment("intro.html", l, a)
	if err != nil {
		return nil, err
	}
	p.Body = intro + p.Body
	return p, nil
}

func (d *Docs) groupPage(title string, groups []group, l text.Locale) (*page, error) {
	p := &page{Title: title, English: true}
	for i, g := range groups {
		body, err := d.fragment("group.html", l, struct {
			group
			Headed bool
		}{g, len(groups) > 1})
		if err != nil {
			return nil, err
		}
		p.Body += body
		if i == 0 && len(groups) == 1 {
			p.Lead = d.t(l, "docs.tag."+strings.ToLower(g.Name)+".lead")
		}
		for _, op := range g.Operations {
			p.Sections = append(p.Sections, link{Href: "#" + op.ID, Label: summary(op, l), Method: op.Method, Level: 2})
		}
		for _, op := range g.Webhooks {
			p.Sections = append(p.Sections, link{Href: "#" + op.ID, Label: summary(op, l), Method: "event", Level: 2})
		}
	}
	return p, nil
}

func (d *Docs) tagName(tag string, l text.Locale) string {
	if l == text.English {
		return tag
	}
	return d.t(l, "docs.tag."+strings.ToLower(tag)+".name")
}

func (d *Docs) t(l text.Locale, key string, args ...any) string {
	return d.site.Messages.T(l, key, args...)
}

// fragment executes a template of the reference.
func (d *Docs) fragment(name string, l text.Locale, data any) (template.HTML, error) {
	t, err := template.New(name).Funcs(functions).Funcs(d.words(l)).ParseFS(fragments, "reference/*.html")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil //nolint:gosec // made by a template
}

// words are the functions of templates that say something in a language.
func (d *Docs) words(l text.Locale) template.FuncMap {
	return template.FuncMap{
		"lang": func() string { return string(l) },
		"t": func(key string, args ...any) (string, error) {
			if !d.site.Messages.Has(key) {
				return "", fmt.Errorf("there is no message %q", key)
			}
			return d.t(l, key, args...), nil
		},
		"summary": func(op *spec.Operation) string { return summary(op, l) },
		"about":   func(op *spec.Operation) string { return about(op, l) },
		"field":   func(description string) (template.HTML, error) { return fieldText(description, l) },
		"term":    func(words string) string { return term(words, l) },
		"tagName": func(tag spec.Tag) string { return d.tagName(tag.Name, l) },
		"samples": func(s shown) (template.HTML, error) {
			samples, err := samplesOf(s.API, s.Operation)
			if err != nil {
				return "", err
			}
			var tabs []codeTab
			for _, one := range samples {
				tabs = append(tabs, codeTab{one.Language, one.Text()})
			}
			return template.HTML(tabbed(d.t(l, "docs.language"), s.ID, tabs)), nil //nolint:gosec // escapes
		},
	}
}
