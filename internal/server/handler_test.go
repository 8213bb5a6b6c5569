package server

import (
	"bufio"
	"context"
	"fmt"
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
