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
	Status   int    // 0 is 200
	Wide     bool   // uses the whole width, with a slim navigation: for pages that are tools
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

// Render answers with a page. Nothing is sent when the template fails.
func (p *Pages) Render(w http.ResponseWriter, r *http.Request, page Page) error {
	if r.Header.Get(refreshHeader) != "" {
		return p.refresh(w, r, page)
	}
	locale := LocaleOf(r)
	t, err := p.templates.page(locale, page.Template)
	if err != nil {
		return err
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

// refreshHeader is sent by a page that brings itself up to date (static/live.js).
const refreshHeader = "X-Refresh"

// refresh answers a page that brings itself up to date: with what is inside it alone, without the messages that wait
// for the visitor, or with nothing where it has that already.
func (p *Pages) refresh(w http.ResponseWriter, r *http.Request, page Page) error {
	t, err := p.templates.page(LocaleOf(r), page.Template)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "main", page.Data); err != nil {
		return fmt.Errorf("page %s/%s: %w", p.name, page.Template, err)
	}
	sum := sha256.Sum256(b.Bytes())
	tag, header := `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`, w.Header()
	header.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(max(page.Status, http.StatusOK))
	_, _ = w.Write(b.Bytes()) // a client that is gone is no failure
	return nil
}

// Fragment renders one block of a page without the layout, for scripts that replace a part of it.
func (p *Pages) Fragment(w http.ResponseWriter, r *http.Request, page, block string, data any) error {
	t, err := p.templates.page(LocaleOf(r), page)
	if err != nil {
		return err
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
