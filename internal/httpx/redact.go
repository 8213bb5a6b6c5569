package httpx

import "net/http"

// Redact keeps secrets that stand in paths out of the log and out of error envelopes: redact returns an escaped path as
// it may be told.
func Redact(redact func(path string) string, next http.Handler) http.Handler {
	return RequestID(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeFrom(r.Context()).redact = redact
		next.ServeHTTP(w, r)
	}))
}

// LoggedPath is the path as the client sent it, in escaped form and without the query, and without what Redact takes
// out. It is logged and told.
func LoggedPath(r *http.Request) string {
	x := exchangeFrom(r.Context())
	if x == nil {
		return r.URL.EscapedPath()
	}
	path := x.escapedPath()
	if x.redact != nil {
		path = x.redact(path)
	}
	return path
}
