package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
)

// contentPolicy allows a page what it is made of and nothing else: own files, and images from where photos are served.
func contentPolicy(mediaURL string) (string, error) {
	images := "img-src 'self' data:"
	if mediaURL != "" {
		u, err := url.Parse(mediaURL)
		if err != nil || u.Host == "" {
			return "", fmt.Errorf("media URL %q is malformed", mediaURL)
		}
		images += " " + u.Scheme + "://" + u.Host
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", images, "connect-src 'self'", "form-action 'self'",
		"frame-ancestors 'none'",
		"base-uri 'none'",
	}, "; "), nil
}

// Wrap is the middleware of all browser pages: security headers, the language, protection from forms of other sites,
// and an error page for a panic or a path that cannot be one. httpx.RequestID is outside of it.
func (s *Site) Wrap(next http.Handler) http.Handler {
	inner := s.recover(s.origins.Handler(s.storable(next)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", s.policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=(), serial=(), "+
			"browsing-topics=()")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		h.Set("Cache-Control", "no-store")
		inner.ServeHTTP(w, s.withLocale(w, r))
	})
}

// crossOrigin is the refusal of a form or script of another site.
var crossOrigin = fault.New(fault.Forbidden, "cross-origin",
	"This form was sent from another site, so nothing was done.")

func (s *Site) refuseOrigin(w http.ResponseWriter, r *http.Request) {
	s.fallback.showError(w, r, crossOrigin)
}

// storable lets only paths through whose parts can be looked up in every database. With another one there is no page.
func (s *Site) storable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !text.IsStorable(r.URL.Path) {
			s.fallback.showError(w, r, pageNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// recover shows the error page for a panic and logs it.
func (s *Site) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httpx.Record(w)
		defer func() {
			v := recover()
			if !httpx.Panicked(v) {
				return
			}
			err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			if rec.Begun() {
				s.logError(r, err)
				panic(http.ErrAbortHandler)
			}
			s.fallback.showError(rec, r, err)
		}()
		next.ServeHTTP(rec, r)
	})
}
