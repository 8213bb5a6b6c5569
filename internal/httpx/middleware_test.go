package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestRequestID(t *testing.T) {
	var seen string
	look := func(_ http.ResponseWriter, r *http.Request) { seen = RequestIDFrom(r.Context()) }
	h := RequestID(RequestID(http.HandlerFunc(look)))
	ids := map[string]bool{}
	for range 10 {
		r := get(t, "/x")
		r.Header.Set("X-Request-Id", "11111111-1111-4111-8111-111111111111")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		id := w.Header().Get("X-Request-Id")
		if uuid.Validate(id) != nil || id != seen {
			t.Fatalf("header %q, context %q", id, seen)
		}
		ids[id] = true
	}
	if len(ids) != 10 || ids["11111111-1111-4111-8111-111111111111"] {
		t.Errorf("ids are not fresh: %v", ids)
	}
	if RequestIDFrom(t.Context()) != "" || RouteFrom(t.Context()) != "" {
		t.Error("a context without request has an id or a route")
	}
}

// serveOnce sends one request over a connection to a handler, waits for the end of the handler, and returns the body.
func serveOnce(t *testing.T, h http.Handler) ([]byte, error) {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(resp.Body)
}

func TestHandleErrorAfterBody(t *testing.T) {
	p, log := testResponder()
	handler := RequestID(p.AccessLog(p.Recover(p.Handle(func(w http.ResponseWriter, _ *http.Request) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		w.(http.Flusher).Flush()
		return errors.New("the other half is lost")
	}))))
	body, err := serveOnce(t, handler)
	if err == nil || string(body) != "half" {
		t.Errorf("got %q, %v; want a cut connection", body, err)
	}
	for _, want := range []string{"response cut off", "the other half is lost", `"aborted":true`, `"status":200`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log)
		}
	}
}

func TestRecover(t *testing.T) {
	serve := func(t *testing.T, h http.HandlerFunc) (w *httptest.ResponseRecorder, log *bytes.Buffer, aborted bool) {
		t.Helper()
		p, log := testResponder()
		w = httptest.NewRecorder()
		defer func() {
			err, ok := recover().(error)
			aborted = ok && errors.Is(err, http.ErrAbortHandler)
		}()
		RequestID(p.Recover(h)).ServeHTTP(w, get(t, "/x"))
		return w, log, false
	}
	t.Run("Envelope", func(t *testing.T) {
		w, log, _ := serve(t, func(http.ResponseWriter, *http.Request) { panic("boom") })
		if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal-error"`) ||
			strings.Contains(w.Body.String(), "boom") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		for _, want := range []string{"boom", "middleware_test.go", w.Header().Get("X-Request-Id")} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s: %s", want, log)
			}
		}
		if strings.Count(log.String(), "\n") != 1 {
			t.Errorf("want one line: %s", log)
		}
	})
	t.Run("AfterTheResponseBegan", func(t *testing.T) {
		_, _, aborted := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			panic(errors.New("boom"))
		})
		if !aborted {
			t.Error("the connection is not aborted")
		}
	})
	t.Run("AbortPasses", func(t *testing.T) {
		_, _, aborted := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		if !aborted {
			t.Error("the abort is swallowed")
		}
	})
}

func TestAccessLog(t *testing.T) {
	p, log := testResponder()
	clock := noon
	p.Now = func() time.Time { clock = clock.Add(3 * time.Millisecond); return clock }
	mux := http.NewServeMux()
	mux.Handle("GET /orders/{id}", p.Handle(func(w http.ResponseWriter, _ *http.Request) error {
		return WriteJSON(w, http.StatusCreated, map[string]int{"a": 1})
	}))
	h := RequestID(p.AccessLog(p.Recover(mux)))
	r := get(t, "/orders/a%20b?token=secret")
	r.Header.Set("Authorization", "Bearer secret")
	r.RemoteAddr = "[::ffff:192.0.2.7]:1234"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)

	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("want one line: %s", log)
	}
	want := map[string]any{
		"level": "INFO", "msg": "request", "method": "GET", "path": "/orders/a%20b", "route": "GET /orders/{id}",
		"status": 201.0, "bytes": 7.0, "duration": 3e6, "request_id": w.Header().Get("X-Request-Id"), "remote": "192.0.2.7",
	}
	for k, v := range want {
		if line[k] != v {
			t.Errorf("%s is %v, want %v", k, line[k], v)
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log holds a secret: %s", log)
	}

	t.Run("NothingWritten", func(t *testing.T) {
		log.Reset()
		h := p.AccessLog(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		h.ServeHTTP(httptest.NewRecorder(), get(t, "/"))
		if !strings.Contains(log.String(), `"status":200`) {
			t.Errorf("logged %s", log)
		}
	})
	t.Run("Off", func(t *testing.T) {
		served := false
		quiet := &Responder{Log: slog.New(slog.DiscardHandler)}
		h := quiet.AccessLog(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true }))
		h.ServeHTTP(httptest.NewRecorder(), get(t, "/"))
		if !served {
			t.Error("the request is not served")
		}
	})
}

func TestClientIP(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"[fe80::1%eth0]:80": "fe80::1", "@": "", "": "",
	} {
		r := get(t, "/")
		r.RemoteAddr = remote
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		r.Header.Set("Forwarded", "for=203.0.113.9")
		if got := ClientIP(r); got != want {
			t.Errorf("ClientIP(%q) = %q, want %q", remote, got, want)
		}
	}
}
