package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/assayhq/assay/internal/api/desk"
	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/media"
)

// handler combines the two APIs, the media and the pages.
func (s *Server) handler(integrationAPI *integration.API, deskAPI *desk.API, pages http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", pages) // unknown addresses get its 404 page
	s.mountMedia(mux)

	// The APIs are matched before ServeMux sees the path: it would clean and redirect paths for which integrators have to
	// get a 404.
	route := func(w http.ResponseWriter, r *http.Request) {
		if below(r.URL.Path, integration.Prefix) {
			integrationAPI.ServeHTTP(w, r)
			return
		}
		if below(r.URL.Path, desk.Prefix) {
			deskAPI.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}
	responder := &httpx.Responder{Log: s.app.Log}
	served := s.hsts(httpx.RequestID(s.metrics.observe(responder.AccessLog(responder.Recover(http.HandlerFunc(route))))))
	if len(s.app.Settings.TrustedProxies) == 0 {
		return httpx.WarnForwarded(s.warnForwarded, served)
	}
	return httpx.Proxies(s.app.Settings.TrustedProxies).Trust(served)
}

func below(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// mountMedia serves photos where --media-url says: below its path, or on its host when it has no path.
func (s *Server) mountMedia(mux *http.ServeMux) {
	files := media.Handler(s.app.Media, s.app.Log)
	u, err := url.Parse(s.app.Settings.MediaURL)
	if err != nil { // Open has checked it
		return
	}
	prefix := strings.TrimSuffix(u.Path, "/") + "/"
	pattern := prefix
	if prefix == "/" {
		pattern = u.Hostname() + "/"
	}
	mux.Handle(pattern, http.StripPrefix(strings.TrimSuffix(prefix, "/"), files))
}
