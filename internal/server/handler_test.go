package server

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"
)

// TestBusy checks that under overload requests that write are refused before anything is done for them, not even
// reading their bodies, and that reads are answered.
func TestBusy(t *testing.T) {
	s := startServer(t, time.Minute)
	s.admit = func(ctx context.Context) (context.Context, func(), bool) { return ctx, nil, false }
	for _, path := range []string{"/v1/integrations/orders", "/v1/desk/orders/next"} {
		conn := dial(t, s, "listen")
		if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: assay\r\nContent-Length: 2\r\n\r\n{}", path); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, Retry-After %q", path, resp.Status, resp.Header.Get("Retry-After"))
		}
	}
	for path, want := range map[string]int{"/v1/integrations/balance": 401, "/portal/sign-in": 200} {
		if code, body := fetch(t, s.BaseURL()+path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// TestMediaURL_WithoutPath: photos and pages may share a host, with photos right below its root; on a host of their own
// there is nothing but photos.
func TestMediaURL_WithoutPath(t *testing.T) {
	const photo, page = "/abcdefghijklmnopqrstuvwxyz234567.jpg", "/portal/sign-in"
	for _, test := range []struct {
		media, host, path string
		status            int
		kind              string
	}{
		{"https://LocalHost:8443", "localhost", page, 200, "text/html; charset=utf-8"},
		{"https://LocalHost:8443", "localhost", photo, 404, "text/plain; charset=utf-8"},
		{"https://media.example", "media.example", page, 404, "text/plain; charset=utf-8"},
		{"https://media.example", "media.example", photo, 404, "text/plain; charset=utf-8"},
		{"https://media.example", "localhost", page, 200, "text/html; charset=utf-8"},
	} {
		set := nodeSettings(t, "--media-url", test.media, "--public-url", "http://localhost:8080")
		s := run(t, set, slog.New(slog.DiscardHandler))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL()+test.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = test.host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != test.status || kind != test.kind {
			t.Errorf("%s%s with %s: %s, %s", test.host, test.path, test.media, resp.Status, kind)
		}
	}
}
