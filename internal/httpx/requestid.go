package httpx

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"
)

const requestIDHeader = "X-Request-Id"

// exchange is what the middleware knows about one request and its response. One goroutine, the handler's, uses it.
type exchange struct {
	Recorder
	id    string
	url   *url.URL // as requested, before any prefix was stripped
	route string
}

type exchangeKey struct{}

func exchangeFrom(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// RequestID gives every request a fresh UUID: in the X-Request-Id response header, and in the context for the envelope
// and the log. An X-Request-Id sent by the client is ignored, so that a client cannot forge another request's id.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if exchangeFrom(r.Context()) != nil {
			next.ServeHTTP(w, r)
			return
		}
		x := &exchange{Recorder: Recorder{ResponseWriter: w}, id: uuid.NewString(), url: r.URL}
		w.Header()[requestIDHeader] = []string{x.id}
		next.ServeHTTP(&x.Recorder, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	})
}

// RequestIDFrom returns the id of the request that ctx belongs to, or "" outside of RequestID.
func RequestIDFrom(ctx context.Context) string {
	if x := exchangeFrom(ctx); x != nil {
		return x.id
	}
	return ""
}

// SetRoute tells the access log which route serves the request. Responder.Handle does so for a route of a ServeMux;
// the first caller wins.
func SetRoute(ctx context.Context, pattern string) {
	if x := exchangeFrom(ctx); x != nil && x.route == "" {
		x.route = pattern
	}
}

// RouteFrom returns the route that serves the request, or "" when none is known.
func RouteFrom(ctx context.Context) string {
	if x := exchangeFrom(ctx); x != nil {
		return x.route
	}
	return ""
}

// ensureRequestID returns the request's id; a response outside of RequestID gets a new one.
func ensureRequestID(w http.ResponseWriter, r *http.Request) string {
	id := RequestIDFrom(r.Context())
	if id == "" {
		id = uuid.NewString()
	}
	w.Header()[requestIDHeader] = []string{id}
	return id
}

// requestPath is the path as the client sent it, in escaped form and without the query.
func requestPath(r *http.Request) string {
	if x := exchangeFrom(r.Context()); x != nil {
		return x.url.EscapedPath()
	}
	return r.URL.EscapedPath()
}
