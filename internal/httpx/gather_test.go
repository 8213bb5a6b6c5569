package httpx

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/assayhq/assay/internal/http1"
)

// eachServer runs a test with a server of net/http alone, and with one that serves plain requests itself.
func eachServer(t *testing.T, h http.Handler, test func(t *testing.T, address string)) {
	for name, takes := range map[string]bool{"NetHTTP": false, "Front": true} {
		t.Run(name, func(t *testing.T) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http1.Server{
				Server: &http.Server{Handler: h, ConnContext: ConnContext}, Takes: func(string) bool { return takes },
			}
			go func() { _ = server.Serve(Gather(l)) }()
			t.Cleanup(func() { _ = server.Close() })
			test(t, l.Addr().String())
		})
	}
}

// TestGather sends answers of all sizes around those of the buffers, some in several writes, over one connection.
func TestGather(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 2048)
	handler := func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		parts, _ := strconv.Atoi(r.URL.Query().Get("parts"))
		if r.URL.Query().Has("length") {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", strconv.Itoa(size*parts))
		}
		for range parts {
			if n, err := w.Write(content[:size]); n != size || err != nil {
				t.Errorf("wrote %d of %d: %v", n, size, err)
			}
		}
	}
	eachServer(t, RequestID(http.HandlerFunc(handler)), func(t *testing.T, address string) {
		for _, length := range []string{"", "&length"} {
			for _, parts := range []int{1, 3} {
				for _, size := range []int{0, 1, 2047, 2048, 3700, 3900, 4000, 4096, 4097, 5000, 7900, 8192, 8193, 12345, 32768} {
					query := "?size=" + strconv.Itoa(size) + "&parts=" + strconv.Itoa(parts) + length
					body, err := getBody(t, http.DefaultClient, "http://"+address+"/"+query)
					if err != nil || !bytes.Equal(body, bytes.Repeat(content[:size], parts)) {
						t.Errorf("%s: %d bytes, %v", query, len(body), err)
					}
				}
			}
		}
	})
}

func getBody(t *testing.T, by *http.Client, url string) ([]byte, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := by.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// TestGatherWrites counts what a connection hands to the system.
func TestGatherWrites(t *testing.T) {
	client, server := tcpPair(t)
	c := &gatherConn{VectorConn: tcpConn{server}, hold: true}
	for _, part := range []string{"header and beginning, ", "rest"} {
		if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("wrote %d: %v", n, err)
		}
	}
	if len(c.held) != 0 {
		t.Error("the rest is held, too")
	}
	if _, err := c.Write([]byte(", held")); err != nil || len(c.held) == 0 {
		t.Errorf("not held: %v", err)
	}
	if err := c.release(); err != nil || len(c.held) != 0 || c.release() != nil {
		t.Errorf("not released: %v", err)
	}
	if _, err := c.Write([]byte(", direct")); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	got, err := io.ReadAll(client)
	if err != nil || string(got) != "header and beginning, rest, held, direct" {
		t.Errorf("received %q, %v", got, err)
	}
	if ctx := context.Background(); ConnContext(ctx, client) != ctx {
		t.Error("another connection is in the context")
	}
}

func tcpPair(t *testing.T) (client net.Conn, server *net.TCPConn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if client, err = new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return client, accepted.(*net.TCPConn)
}
