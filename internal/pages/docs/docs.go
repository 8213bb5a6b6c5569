// Package docs serves the reference of the JSON interfaces: pages made from the OpenAPI documents on the server, in the
// layout of all pages, and the documents themselves. They can be read without scripts.
package docs

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

// Path is where the reference of the integration interface is; everything else is below.
const Path = "/docs"

//go:embed templates messages static
var files embed.FS

// reference is the templates of what the pages hold, which have functions of their own.
//
//go:embed reference
var reference embed.FS

// samplePhoto is for first orders: a photo that anybody can upload.
//
//go:embed static/sample.jpg
var samplePhoto []byte

// Area is the pages, for ui.New.
var Area = ui.Area{Name: "docs", Files: files}

// page is what the template shows.
type page struct {
	*spec.Document
	Key    string // environment variable that holds the credentials in samples
	Groups []group
}

// group is the operations of one tag.
type group struct {
	spec.Tag
	Operations []*spec.Operation
	Webhooks   []*spec.Operation
}

func newPage(d *spec.Document, key string) page {
	p := page{Document: d, Key: key}
	for _, tag := range d.Tags {
		p.Groups = append(p.Groups, group{Tag: tag, Operations: tagged(d.Operations, tag), Webhooks: tagged(d.Webhooks, tag)})
	}
	return p
}

func tagged(operations []*spec.Operation, tag spec.Tag) []*spec.Operation {
	var out []*spec.Operation
	for _, op := range operations {
		if op.Tag == tag.Name {
			out = append(out, op)
		}
	}
	return out
}

// resource is one answer, ready to send.
type resource struct {
	contentType string
	body        []byte
	etag        string
}

func newResource(contentType string, body []byte) resource {
	sum := sha256.Sum256(body)
	return resource{contentType: contentType, body: body, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
}

const (
	htmlType = "text/html; charset=utf-8"
	jsonType = "application/json"
	yamlType = "application/yaml"
)

// documents returns the documents of the service at a public URL.
func documents(publicURL string) map[string]resource {
	integration, desk := api.IntegrationAt(publicURL), api.DeskAt(publicURL)
	return map[string]resource{
		Path + "/openapi.json":     newResource(jsonType, integration.JSON),
		Path + "/openapi.yaml":     newResource(yamlType, integration.YAML),
		Path + "/openapi-3.0.json": newResource(jsonType, integration.JSON30),
		Path + "/desk.json":        newResource(jsonType, desk.JSON),
		Path + "/desk.yaml":        newResource(yamlType, desk.YAML),
		Path + "/sample.jpg":       newResource("image/jpeg", samplePhoto),
	}
}

// pages are the references, by their addresses.
var pages = map[string]func() page{
	Path:           func() page { return newPage(api.Integration(), "ASSAY_KEY") },
	Path + "/desk": func() page { return newPage(api.Desk(), "ASSAY_STAFF_TOKEN") },
}

// Docs serves the reference.
type Docs struct {
	pages     *ui.Pages
	documents func() map[string]resource

	mu   sync.Mutex
	made map[version]template.HTML
}

// version is a page in a language.
type version struct {
	path   string
	locale text.Locale
}

// New returns the pages over a site that was made with Area. Nothing is made before it is asked for.
func New(site *ui.Site) *Docs {
	d := &Docs{
		pages:     site.Pages(Area.Name),
		documents: sync.OnceValue(func() map[string]resource { return documents(site.PublicURL) }),
		made:      make(map[version]template.HTML),
	}
	d.pages.Shell = d.shell
	return d
}

// Routes mounts the references and the documents beside them, as JSON and YAML.
func (d *Docs) Routes(mux *http.ServeMux) {
	for path := range pages {
		mux.Handle(path, d.reading(d.show))
	}
	mux.Handle(Path+"/{$}", d.reading(d.show))
	for path := range documents("") {
		mux.Handle(path, d.reading(d.document))
	}
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

// shell is the navigation: both references, and the documents of the one that is shown.
func (d *Docs) shell(r *http.Request) ui.Shell {
	t := func(key string) string { return d.pages.Site().T(r, key) }
	document := []ui.NavItem{
		{Href: Path + "/openapi.json", Label: t("docs.nav.json"), Icon: "download"},
		{Href: Path + "/openapi-3.0.json", Label: t("docs.nav.json30"), Icon: "download"},
		{Href: Path + "/openapi.yaml", Label: t("docs.nav.yaml"), Icon: "download"},
	}
	if r.URL.Path == Path+"/desk" {
		document = []ui.NavItem{
			{Href: Path + "/desk.json", Label: t("docs.nav.json"), Icon: "download"},
			{Href: Path + "/desk.yaml", Label: t("docs.nav.yaml"), Icon: "download"},
		}
	}
	return ui.Shell{
		Label: t("docs.area"), Home: Path,
		Groups: []ui.NavGroup{
			{Label: t("docs.nav.references"), Items: []ui.NavItem{
				{Href: Path, Label: t("docs.nav.integration"), Icon: "book"},
				{Href: Path + "/desk", Label: t("docs.nav.desk"), Icon: "shield"},
			}},
			{Label: t("docs.nav.document"), Items: document},
		},
	}
}

// view is what the page shows.
type view struct {
	Title string
	Body  template.HTML
}

func (d *Docs) show(w http.ResponseWriter, r *http.Request) error {
	path := r.URL.Path
	newPage, ok := pages[path]
	if !ok {
		path, newPage = Path, pages[Path]
	}
	p := newPage()
	body, err := d.body(version{path, ui.LocaleOf(r)}, p)
	if err != nil {
		return err
	}
	return d.pages.Render(w, r, ui.Page{Template: "reference", Data: view{Title: p.Title, Body: body}, Wide: true})
}

// body returns what a page holds. It is the same for everybody, and kept once it is made.
func (d *Docs) body(v version, p page) (template.HTML, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if made, ok := d.made[v]; ok {
		return made, nil
	}
	t, err := template.New("page.html").Funcs(functions).Funcs(d.words(v.locale)).ParseFS(reference, "reference/*.html")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return "", err
	}
	d.made[v] = template.HTML(b.String()) //nolint:gosec // made by a template
	return d.made[v], nil
}

// words are the functions of templates that say something in a language.
func (d *Docs) words(l text.Locale) template.FuncMap {
	messages := d.pages.Site().Messages
	return template.FuncMap{
		"lang": func() string { return string(l) },
		"t": func(key string, args ...any) (string, error) {
			if !messages.Has(key) {
				return "", fmt.Errorf("there is no message %q", key)
			}
			return messages.T(l, key, args...), nil
		},
	}
}

func (d *Docs) document(w http.ResponseWriter, r *http.Request) error {
	found := d.documents()[r.URL.Path]
	h := w.Header()
	h.Set("Content-Type", found.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", found.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.body))
	return nil
}
