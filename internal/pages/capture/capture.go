// Package capture is the page behind a capture link: a seller takes the photos of an item on a phone. Whoever knows the
// address may use it, and nothing else of the account is visible through it.
package capture

import (
	"embed"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

//go:embed templates messages static
var files embed.FS

// Area is the templates, texts and static files of the page, for ui.New.
var Area = ui.Area{Name: "capture", Files: files}

// Prefix is where the pages are. What follows it is a secret.
const Prefix = "/capture/"

// Config is what the pages work with.
type Config struct {
	Site          *ui.Site
	Service       *service.Service
	Staging       *media.Staging
	MaxPhotoBytes int64
	Images        *imaging.Cache
	Limiter       ratelimit.Limiter
	Failures      *ratelimit.Failures // addresses that guess
	Responder     *httpx.Responder    // answers the script of the page
}

// Pages serves the page and what its script asks for.
type Pages struct {
	Config
	pages *ui.Pages
}

// New returns the pages over a site that was made with Area.
func New(c Config) *Pages {
	p := &Pages{Config: c, pages: c.Site.Pages(Area.Name)}
	p.pages.Shell = func(r *http.Request) ui.Shell { return ui.Shell{Home: r.URL.Path} } // the mark leads nowhere else
	return p
}

// Routes mounts the pages.
func (p *Pages) Routes(mux *http.ServeMux) {
	for pattern, handler := range p.table() {
		mux.Handle(pattern, handler)
	}
}

// Patterns returns the addresses of all pages, for tests that look at each.
func (p *Pages) Patterns() []string { return slices.Collect(maps.Keys(p.table())) }

func (p *Pages) table() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /capture/{token}":                 p.pages.Handle(p.show),
		"GET /capture/{token}/photos/{key}":    p.pages.Handle(p.showPhoto),
		"PUT /capture/{token}/photos/{key}":    p.Responder.Handle(p.addPhoto),
		"DELETE /capture/{token}/photos/{key}": p.Responder.Handle(p.removePhoto),
		"POST /capture/{token}":                p.Responder.Handle(p.submit),
	}
}

// pageView is what the page shows.
type pageView struct {
	*service.Capture
	Path     string
	Indexes  []indexView
	MaxBytes int64
}

type indexView struct {
	capture.Wanted
	Number int
	Photos []capture.Photo
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request) error {
	c, err := p.find(r, ratelimit.Read, p.Service.Capture)
	if err != nil {
		return err
	}
	v := pageView{Capture: c, Path: r.URL.Path, MaxBytes: p.MaxPhotoBytes}
	for i, wanted := range c.Wanted {
		x := indexView{Wanted: wanted, Number: i + 1}
		for _, photo := range c.Photos {
			if photo.IndexCode == wanted.Code {
				x.Photos = append(x.Photos, photo)
			}
		}
		v.Indexes = append(v.Indexes, x)
	}
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer") // the address is a secret
	h.Set("Permissions-Policy", strings.Replace(h.Get("Permissions-Policy"), "camera=()", "camera=(self)", 1))
	h.Set("Content-Security-Policy", withExamples(h.Get("Content-Security-Policy"), c.Wanted))
	status := http.StatusOK
	if c.Status == capture.Expired || c.Status == capture.Revoked {
		status = http.StatusGone
	}
	page := "capture"
	if c.Status != capture.Open {
		page = "ended"
	}
	return p.pages.Render(w, r, ui.Page{Template: page, Data: v, Status: status})
}

// withExamples lets the page show the catalog's examples, which may be on other hosts.
func withExamples(policy string, wanted []capture.Wanted) string {
	var hosts []string
	for i := range wanted {
		u, err := url.Parse(wanted[i].Example)
		if err != nil || u.Host == "" || strings.ContainsAny(u.Host, " ;,'") {
			continue
		}
		if host := u.Scheme + "://" + u.Host; !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if hosts == nil {
		return policy
	}
	return strings.Replace(policy, "img-src ", "img-src "+strings.Join(hosts, " ")+" ", 1)
}
