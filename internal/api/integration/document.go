package integration

import (
	"net/http"

	"github.com/assayhq/assay/internal/httpx"
)

// The OpenAPI documents, which anybody may read, without a key.
const (
	documentPath   = "/openapi.json"
	document30Path = "/openapi-3.0.json"
)

// serveDocument answers a request for an OpenAPI document, and reports whether it was one.
func (a *API) serveDocument(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	var body []byte
	switch r.URL.EscapedPath() {
	case Prefix + documentPath:
		body = a.document().JSON
	case Prefix + document30Path:
		body = a.document().JSON30
	default:
		return false
	}
	httpx.SetRoute(r.Context(), "GET "+r.URL.Path)
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	httpx.WriteRaw(w, http.StatusOK, body)
	return true
}
