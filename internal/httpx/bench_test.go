package httpx

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/jsonlog"
)

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkChain is the cost of the middleware around a handler that writes a small body.
func BenchmarkChain(b *testing.B) {
	p := &Responder{Log: slog.New(slog.DiscardHandler), Now: time.Now}
	mux := http.NewServeMux()
	mux.Handle("GET /x", p.Handle(func(w http.ResponseWriter, _ *http.Request) error {
		WriteRaw(w, http.StatusOK, []byte(`{"availableCredits":1000}`))
		return nil
	}))
	h := RequestID(p.AccessLog(p.Recover(mux)))
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/x?a=1", http.NoBody)
	w := discard{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.h)
		h.ServeHTTP(w, r)
	}
}

// TestChainAllocations bounds what the middleware allocates for a request: the exchange with its context, the request
// that has it, its id, and the address of the client.
func TestChainAllocations(t *testing.T) {
	p := &Responder{Log: jsonlog.New(io.Discard)}
	body := Prepare([]byte(`{"availableCredits":1000}`))
	h := RequestID(p.AccessLog(p.Recover(p.Handle(func(w http.ResponseWriter, r *http.Request) error {
		r = Limit(time.Minute, w, r)
		body.Write(w, http.StatusOK)
		return r.Context().Err()
	}))))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x?a=1", http.NoBody)
	w := discard{http.Header{}}
	got := testing.AllocsPerRun(200, func() {
		clear(w.h)
		h.ServeHTTP(w, r)
	})
	if got > 5 {
		t.Errorf("a request makes %v allocations, at most 5 are allowed", got)
	}
}
