package httpx

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkReadOrder compares parsing and checking a ten-photo order with encoding/json, which checks much less.
func BenchmarkReadOrder(b *testing.B) {
	body := orderBody(10)
	b.Run("httpx", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readOrder(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		type request struct {
			Brand       string  `json:"brand_code"`
			Category    string  `json:"category_code"`
			Model       *string `json:"model_code"`
			ExternalID  *string `json:"external_id"`
			AnswerTime  *int64  `json:"answer_time"`
			MockOutcome *string `json:"mock_outcome"`
			Photos      []struct {
				URL       string `json:"url"`
				IndexCode string `json:"index_code"`
			} `json:"photos"`
		}
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.DisallowUnknownFields()
			var req request
			if err := dec.Decode(&req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

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
	p := &Responder{Log: NewJSONLog(io.Discard)}
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
