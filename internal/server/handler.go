package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/api/desk"
	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/capture"
)

// handler combines the two APIs, the media and the pages.
func (s *Server) handler(integrationAPI *integration.API, deskAPI *desk.API, pages http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", pages) // unknown addresses get its 404 page
	s.mountMedia(mux, pages)

	// The APIs are matched before ServeMux sees the path: it would clean and redirect paths for which integrators have to
	// get a 404.
	responder := &httpx.Responder{Log: s.app.Log}
	route := func(w http.ResponseWriter, r *http.Request) {
		if role := roleOf(r.URL.Path); role != "" && !s.app.Settings.Roles.Has(role) {
			err := fmt.Errorf("this node does not have the role %s", role)
			responder.Fail(httpx.Record(w), r, fault.UnavailableError(err))
			return
		}
		var api http.Handler
		switch {
		case below(r.URL.Path, integration.Prefix):
			api = integrationAPI
		case below(r.URL.Path, desk.Prefix):
			api = deskAPI
		default:
			mux.ServeHTTP(w, r) // a form that is refused under overload gets a page
			return
		}
		if writes(r.Method) {
			ctx, done, ok := s.admit(r.Context())
			if !ok {
				httpx.Drain(r, maxBusyDrain)
				responder.WriteError(w, r, fault.UnavailableError(errBusy))
				return
			}
			defer done()
			r = r.WithContext(ctx)
		}
		api.ServeHTTP(w, r)
	}
	served := s.hsts(httpx.RequestID(httpx.Redact(capture.RedactPath, s.traced(s.metrics.observe(
		responder.AccessLog(responder.Recover(http.HandlerFunc(route))))))))
	proxies := httpx.Proxies(s.app.Settings.TrustedProxies)
	return proxies.WarnForwarded(s.warnForwarded, proxies.Trust(served))
}

// errBusy is why a request to an API is refused before anything is done for it: under overload what is refused has to
// cost little, or it takes the time of what is accepted.
var errBusy = errors.New("more requests wait than the database can take in time")

// maxBusyDrain is how much is read of the body of a request that is refused under overload: all of a JSON object, so
// that its client gets the answer and learns when to come back. To receive whole photos in vain would cost many times
// what the refusal does. A client that waits for 100 Continue is told before it sends them.
const maxBusyDrain = input.MaxBody

// admission decides whether a request that writes is served now; (*store.Store).Admit is one.
type admission func(context.Context) (admitted context.Context, done func(), ok bool)

func writes(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// roleOf returns the role that a node needs to answer a path, or "": photos, certificates and what pages are made of
// come from every node that listens.
func roleOf(path string) string {
	for _, prefix := range []string{integration.Prefix, "/docs"} {
		if below(path, prefix) {
			return RoleAPI
		}
	}
	for _, prefix := range []string{desk.Prefix, "/desk", "/portal"} {
		if below(path, prefix) {
			return RoleDesk
		}
	}
	return ""
}

func below(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// mountMedia serves photos where --media-url says: below its path, or on its host when it has no path. Where that is
// the host of the pages, too, whatever is no name of a photo is theirs.
func (s *Server) mountMedia(mux *http.ServeMux, pages http.Handler) {
	u, err := url.Parse(s.app.Settings.MediaURL)
	if err != nil { // Open has checked it
		return
	}
	prefix := strings.TrimSuffix(u.Path, "/")
	files := underRoute("GET "+prefix+"/{name}", media.Handler(s.app.Media, s.app.Log))
	if prefix != "" {
		mux.Handle(prefix+"/", http.StripPrefix(prefix, files))
		return
	}
	public, err := url.Parse(s.app.Settings.PublicURL)
	shared := err == nil && strings.EqualFold(public.Hostname(), u.Hostname())
	mux.HandleFunc(strings.ToLower(u.Hostname())+"/", func(w http.ResponseWriter, r *http.Request) {
		if _, ok := photo.ParseName(strings.TrimPrefix(r.URL.Path, "/")); shared && !ok {
			pages.ServeHTTP(w, r)
			return
		}
		files.ServeHTTP(w, r)
	})
}

// underRoute has what is read through a handler counted and logged under a route.
func underRoute(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !writes(r.Method) {
			httpx.SetRoute(r.Context(), route)
		}
		next.ServeHTTP(w, r)
	})
}

// securityTextPath is where people who have found a hole look for whom to tell (RFC 9116).
const securityTextPath = "/.well-known/security.txt"

// securityTextAge is for how long the file says that it holds; it must be less than a year, and is made anew every day.
const securityTextAge = 180 * 24 * time.Hour

// securityText answers with the contact of the operator.
func securityText(contact, publicURL string, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		expires := now().UTC().Truncate(24 * time.Hour).Add(securityTextAge)
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "public, max-age=86400")
		_, _ = io.WriteString(w, fmt.Sprintf( // a client that is gone is no failure
			"Contact: %s\nExpires: %s\nPreferred-Languages: en, ja\nCanonical: %s\n",
			contact, expires.Format(time.RFC3339), strings.TrimSuffix(publicURL, "/")+securityTextPath))
	})
}
