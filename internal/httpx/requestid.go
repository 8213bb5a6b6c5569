package httpx

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
)

const requestIDHeader = "X-Request-Id"

// RequestID gives every request a fresh UUID: in the X-Request-Id response header, and in the context for the envelope
// and the log. An X-Request-Id sent by the client is ignored, so that a client cannot forge another request's id.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if exchangeFrom(r.Context()) != nil {
			next.ServeHTTP(w, r)
			return
		}
		x, r := begin(w, r)
		w.Header()[requestIDHeader] = x.ids[:]
		next.ServeHTTP(&x.Recorder, r)
		x.end()
	})
}

// newRequestID returns a UUID of version 7: it tells when the request began, so that requests are found by their ids.
// The rest is random. Ids are told to clients and are no secrets, so that they need not be taken from the system's
// source of randomness, which is a system call each time.
func newRequestID(at time.Time) (id uuid.UUID) {
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // no secret
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16)
	binary.BigEndian.PutUint16(id[6:], uint16(at.Nanosecond()%1e6*4096/1e6)) //nolint:gosec // below 4096
	id[6] |= 0x70                                                            // version 7
	id[8] = id[8]&0x3f | 0x80                                                // variant of RFC 9562
	return id
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
		id = newRequestID(time.Now()).String()
	}
	w.Header()[requestIDHeader] = []string{id}
	return id
}
