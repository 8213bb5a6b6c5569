package server

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestBusy checks that under overload requests that write are refused before anything is done for them, and that reads
// are answered.
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

// TestCaptureSecret checks that the secret in the address of a capture link is neither logged nor told.
func TestCaptureSecret(t *testing.T) {
	log := new(child.Output)
	s := run(t, nodeSettings(t), slog.New(slog.NewJSONHandler(log, nil)))
	const secret = "secretsecretsecretsecretsecretsecretsecrets"
	request := must.Request(t, http.MethodPut, s.BaseURL()+"/capture/"+secret+"/photos/x", http.NoBody)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	const told = `"path":"/capture/-/photos/x"`
	if _, body := must.Do(t, http.DefaultClient, request); !strings.Contains(string(body), told) {
		t.Errorf("told %s", body)
	}
	must.Eventually(t, time.Minute, "the line of the request", func() bool { return strings.Contains(log.String(), told) })
	if strings.Contains(log.String(), secret) {
		t.Errorf("logged %s", log)
	}
}

// upload sends a body in pieces with pauses, all of it before it looks for the answer.
func upload(t *testing.T, s *Server, path, headers string, pieces, size int, pause time.Duration) *http.Response {
	t.Helper()
	conn := dial(t, s, "listen")
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: assay\r\nSec-Fetch-Site: same-origin\r\n%s"+
		"Content-Length: %d\r\n\r\n", path, headers, pieces*size)
	for range pieces {
		if err == nil {
			time.Sleep(pause)
			_, err = conn.Write(make([]byte, size))
		}
	}
	if err != nil {
		t.Fatalf("the client is cut off: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestRefusedUploads: whoever looks for the answer only after everything was sent gets it.
func TestRefusedUploads(t *testing.T) {
	all := startServer(t, time.Minute)
	desk := run(t, nodeSettings(t, "--roles", "desk"), slog.New(slog.DiscardHandler))
	const script, answer = "Sec-Fetch-Mode: cors\r\n", "/portal/live/orders/x/photos"
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	for name, test := range map[string]struct {
		node          *Server
		path, headers string
		status        int
	}{
		"SignedOut":       {all, answer, script, 401},
		"SignedOutByForm": {all, answer, "", 303},
		"TooLarge":        {all, "/portal/sign-in", form, 413},
		"Nowhere":         {all, "/nowhere", "", 404},
		"WithoutKey":      {all, "/v1/integrations/photos", "", 401},
		"WithoutRole":     {desk, "/v1/integrations/photos", "", 503},
	} {
		t.Run(name, func(t *testing.T) {
			if resp := upload(t, test.node, test.path, test.headers, 1, 15<<20, 0); resp.StatusCode != test.status {
				t.Error(resp.Status)
			}
		})
	}
}

// TestBusy_Body: a body of JSON may be larger than what net/http reads by itself.
func TestBusy_Body(t *testing.T) {
	s := startServer(t, time.Minute)
	s.admit = func(ctx context.Context) (context.Context, func(), bool) { return ctx, nil, false }
	resp := upload(t, s, "/v1/integrations/orders", "", 5, 200<<10, 300*time.Millisecond)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", resp.Status, resp.Header.Get("Retry-After"))
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
