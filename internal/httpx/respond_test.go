package httpx

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/expect"
)

func TestWriteJSON(t *testing.T) {
	t.Run("HeadersAndBody", func(t *testing.T) {
		w := httptest.NewRecorder()
		if err := WriteJSON(w, http.StatusCreated, map[string]string{"a": "<é>&"}); err != nil {
			t.Fatal(err)
		}
		if w.Code != 201 || w.Body.String() != `{"a":"<é>&"}` {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		expect.Results(t, w.Header().Get, map[string]string{
			"Content-Type": "application/json; charset=utf-8", "Content-Length": "13",
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		})
	})
	t.Run("KeepsCacheControl", func(t *testing.T) {
		w := httptest.NewRecorder()
		w.Header().Set("Cache-Control", "private, max-age=60")
		WriteRaw(w, http.StatusOK, []byte(`{}`))
		if got := w.Header().Get("Cache-Control"); got != "private, max-age=60" {
			t.Errorf("Cache-Control is %q", got)
		}
	})
	t.Run("NotEncodable", func(t *testing.T) {
		p, _ := testResponder()
		w := httptest.NewRecorder()
		h := p.Handle(func(w http.ResponseWriter, _ *http.Request) error { return WriteJSON(w, 200, math.Inf(1)) })
		h.ServeHTTP(w, get(t, "/x"))
		if w.Code != 500 || !strings.Contains(w.Body.String(), "internal-error") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

func TestRecorder(t *testing.T) {
	t.Run("StatusAndBytes", func(t *testing.T) {
		below := httptest.NewRecorder()
		rec := Record(below)
		if rec.Begun() || rec.Status() != 0 {
			t.Error("has begun before anything was written")
		}
		rec.WriteHeader(http.StatusAccepted)
		if _, err := io.WriteString(rec, "four"); err != nil {
			t.Fatal(err)
		}
		if n, err := rec.ReadFrom(strings.NewReader("three")); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		if rec.Status() != 202 || rec.Bytes() != 9 || below.Body.String() != "fourthree" {
			t.Errorf("%d %d %s", rec.Status(), rec.Bytes(), below.Body)
		}
		if Record(rec) != rec {
			t.Error("a recorder is wrapped again")
		}
	})
	t.Run("Informational", func(t *testing.T) {
		rec := Record(httptest.NewRecorder())
		rec.WriteHeader(http.StatusEarlyHints)
		if rec.Begun() {
			t.Error("an informational status begins the response")
		}
	})
	t.Run("Flush", func(t *testing.T) {
		below := httptest.NewRecorder()
		rec := Record(below)
		if err := http.NewResponseController(rec).Flush(); err != nil || !below.Flushed || rec.Status() != 200 {
			t.Errorf("%v %v %d", err, below.Flushed, rec.Status())
		}
	})
	t.Run("Unwrap", func(t *testing.T) {
		served := make(chan error, 1)
		if _, err := serveOnce(t, RequestID(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			served <- http.NewResponseController(w).SetReadDeadline(time.Time{})
		}))); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Errorf("the connection is not reached: %v", err)
		}
	})
}
