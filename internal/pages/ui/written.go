package ui

import (
	"net/http"
	"time"
)

// writtenCookie says how far the database had written when this browser last changed something. Lists that are shown to
// it are of that moment at least, whichever node answers.
const (
	writtenCookie = "assay_written"
	writtenLife   = time.Minute // no replica that is used is farther behind
)

// reading returns the request with a context in which lists show what this browser has written, and for one that writes
// the writer that tells the browser how far that is.
func (g *Guard[U]) reading(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		r = r.WithContext(g.Sessions.ReadAfter(r.Context(), ""))
		return &writtenMark{ResponseWriter: w, mark: func() {
			if position := g.Sessions.Written(r.Context()); position != "" {
				g.Pages.site.setCookie(w, r, g.Pages.site.cookieName(r, writtenCookie), position, writtenLife)
			}
		}}, r
	}
	if c, err := r.Cookie(g.Pages.site.cookieName(r, writtenCookie)); err == nil {
		r = r.WithContext(g.Sessions.ReadAfter(r.Context(), c.Value))
	}
	return w, r
}

// writtenMark calls mark before a response begins.
type writtenMark struct {
	http.ResponseWriter
	mark  func()
	begun bool
}

func (m *writtenMark) begin() {
	if !m.begun {
		m.begun = true
		m.mark()
	}
}

// WriteHeader implements http.ResponseWriter.
func (m *writtenMark) WriteHeader(status int) {
	if status >= http.StatusOK {
		m.begin()
	}
	m.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (m *writtenMark) Write(b []byte) (int, error) {
	m.begin()
	return m.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (m *writtenMark) Unwrap() http.ResponseWriter { return m.ResponseWriter }
