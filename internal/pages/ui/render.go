package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"

	"github.com/assayhq/assay/internal/httpx"
)

// Pages renders the pages of one area.
type Pages struct {
	// Shell returns the navigation around the pages, for the visitor of a request. Nil, or a zero Shell: none, as for
	// sign-in and public pages. It is set before the first request.
	Shell func(r *http.Request) Shell

	site      *Site
	name      string
	templates *templates
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
	Form     *Form  // that was sent; nil: none
	Status   int    // 0: 422 where something is wrong with the form, else 200
	Wide     bool   // uses the whole width, with a slim navigation: for pages that are tools
}

func (p *Page) status() int {
	if p.Status == 0 && p.Form != nil && !p.Form.OK() {
		return http.StatusUnprocessableEntity
	}
	return max(p.Status, http.StatusOK)
}

// view is what the layout gets as dot.
type view struct {
	Page
	Area      string
	Theme     string
	Brand     Brand
	Shell     Shell
	Flashes   []Flash
	Path      string // where this page is, for the switches of language and theme
	Languages []languageLink
}

// Again shows a page again with what a use case has refused of its form. It returns an error that is not the visitor's.
func (p *Pages) Again(w http.ResponseWriter, r *http.Request, page Page, err error) error {
	if err := p.Refuse(page.Form, err); err != nil {
		return err
	}
	return p.Render(w, r, page)
}

// Render answers with a page. Nothing is sent when the template fails.
func (p *Pages) Render(w http.ResponseWriter, r *http.Request, page Page) error {
	if r.Header.Get(refreshHeader) != "" {
		return p.refresh(w, r, page)
	}
	v := view{
		Page: page, Area: p.name, Theme: themeOf(r), Brand: p.site.Brand(), Flashes: p.site.takeFlashes(w, r),
		Path:      r.URL.RequestURI(),
		Languages: languageLinks(r),
	}
	if p.Shell != nil {
		v.Shell = p.Shell(r)
		v.Shell.markCurrent(r.URL.Path)
	}
	b, err := p.execute(r, page.Template, "layout", v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Language", string(LocaleOf(r)))
	w.Header().Add("Vary", "Cookie, Accept-Language")
	return send(w, page.status(), b)
}

// execute returns what a block of a page writes in the language of the request.
func (p *Pages) execute(r *http.Request, page, block string, data any) ([]byte, error) {
	t, err := p.templates.page(LocaleOf(r), page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, block, data); err != nil {
		return nil, fmt.Errorf("page %s/%s, block %s: %w", p.name, page, block, err)
	}
	return b.Bytes(), nil
}

func send(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // escaped by a template; a client that is gone is no failure
	return nil
}

// refreshHeader is sent by a page that brings itself up to date (static/live.js, and the queue of the desk).
const refreshHeader = "X-Refresh"

// refresh answers a page that brings itself up to date: with what is inside it alone, without the messages that wait
// for the visitor, or with nothing where it has that already.
func (p *Pages) refresh(w http.ResponseWriter, r *http.Request, page Page) error {
	b, err := p.execute(r, page.Template, "main", page.Data)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return send(w, page.status(), b)
}

// Fragment renders one block of a page without the layout, for scripts that replace a part of it.
func (p *Pages) Fragment(w http.ResponseWriter, r *http.Request, page, block string, data any) error {
	b, err := p.execute(r, page, block, data)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, b)
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
