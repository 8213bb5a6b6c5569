package http1_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/http1"
	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

// TestResponses compares what is made of responses with what http.Transport makes of them.
func TestResponses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var text atomic.Pointer[string]
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(c, *text.Load())
		}
	}()
	for name, response := range map[string]string{
		"Length":          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nX-A: 2\r\n\r\nok",
		"Chunked":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1\r\n!\r\n0\r\n\r\n",
		"Trailer":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2\r\nok\r\n0\r\nT: 1\r\n\r\n",
		"UntilTheEnd":     "HTTP/1.1 200 OK\r\n\r\nto the end",
		"NoContent":       "HTTP/1.1 204 No Content\r\n\r\n",
		"NotModified":     "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		"Old":             "HTTP/1.0 200 OK\r\n\r\nold",
		"Continue":        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
		"Hints":           "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"OnlyHints":       "HTTP/1.1 103 Early Hints\r\n\r\n",
		"EndlessHints":    strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 1000),
		"LineFeeds":       "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
		"Nothing":         "",
		"Garbage":         "what is this?\r\n\r\n",
		"OtherProtocol":   "HTTP/2.0 200 OK\r\n\r\n",
		"BadStatus":       "HTTP/1.1 2x0 OK\r\n\r\n",
		"NoColon":         "HTTP/1.1 200 OK\r\nbroken\r\n\r\n",
		"HeaderBreaksOff": "HTTP/1.1 200 OK\r\nContent-Le",
		"BodyBreaksOff":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"ChunkBreaksOff":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
		"TwoLengths":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
		"BadLength":       "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
		"LongHeader":      "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", maxHeader) + "\r\n\r\n",
		"LongBody":        "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000),
		"Compressed":      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
	} {
		t.Run(name, func(t *testing.T) {
			text.Store(&response)
			theirs := &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: maxHeader}
			want, wantErr := post(t, theirs, "http://"+listener.Addr().String(), "body")
			got, err := post(t, transport(2), "http://"+listener.Addr().String(), "body")
			if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) {
				t.Errorf("got %+v, %v, want %+v, %v", got, err, want, wantErr)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	server, _ := tcpproxy.StartTLS(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s %s %q %v", r.Proto, r.Method, r.Host, r.URL, r.Header.Get("X-Lg-Event"), body, err)
	})
	r := request(t.Context(), t, server.URL+"/hook?a=b", "text")
	r.Header.Set("X-Lg-Event", "order-outcome")
	got, err := send(transport(2), r)
	want := "HTTP/1.1 POST " + server.Listener.Addr().String() + ` /hook?a=b order-outcome "text" <nil>`
	if err != nil || got.body != want {
		t.Errorf("the server got %s, %v, want %s", got.body, err, want)
	}
	for _, url := range []string{"ftp://example.com/", "//example.com"} {
		if _, err := post(t, transport(2), url, ""); err == nil {
			t.Errorf("a request to %s is sent", url)
		}
	}
}

// TestConcurrent checks that everybody gets the answer to the request that was sent.
func TestConcurrent(t *testing.T) {
	server, connections := tcpproxy.StartTLS(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	const clients, each = 32, 20
	by := transport(clients * each)
	var group errgroup.Group
	for i := range clients {
		group.Go(func() error {
			for n := range each {
				text := fmt.Sprintf("%d of %d", n, i)
				if got, err := post(t, by, server.URL, text); err != nil || got.body != text {
					return fmt.Errorf("got %q, %w for %q", got.body, err, text)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if n := connections.Load(); n > clients*each/4 {
		t.Errorf("%d connections", n)
	}
}

func TestHandshakeError(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	server, _ := tcpproxy.StartTLS(t, http.NotFound)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{
		"NoTLS":     strings.Replace(plain.URL, "http:", "https:", 1),
		"WrongName": "https://localhost:" + port,
	} {
		if _, err := post(t, transport(2), url, ""); !isHandshake(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	distrusting := transport(2)
	distrusting.TLS.RootCAs = nil
	if _, err := post(t, distrusting, server.URL, ""); !isHandshake(err) {
		t.Errorf("an unknown authority: %v", err)
	}
	config := trusting()
	synctest.Test(t, func(t *testing.T) {
		ours, silent := net.Pipe()
		defer func() { _ = silent.Close() }()
		go func() { _, _ = io.Copy(io.Discard, silent) }()
		by := http1.New(http1.Config{
			Dial: dialInTurn(t, ours), TLS: config, HandshakeTimeout: handshake, MaxHeaderBytes: maxHeader,
		})
		began := time.Now()
		if _, err := post(t, by, "https://example.com", ""); !isHandshake(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a silent server: %v", err)
		}
		if took := time.Since(began); took != handshake {
			t.Errorf("it took %v", took)
		}
	})
}

func isHandshake(err error) bool {
	_, ok := errors.AsType[*http1.HandshakeError](err)
	return ok
}

// TestContext ends contexts at every point of an exchange.
func TestContext(t *testing.T) {
	const limit = time.Second
	for name, test := range map[string]struct {
		server func(c net.Conn) // what it does before it is silent
		answer bool             // it answers
	}{
		"WhileSending": {server: func(net.Conn) {}},
		"BeforeTheAnswer": {server: func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
		}},
		"InTheHeader": {server: func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		}},
		"InTheBody": {answer: true, server: func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				ended := make(chan error)
				go func() {
					test.server(theirs)
					if name == "WhileSending" {
						time.Sleep(2 * limit)
					}
					_, err := theirs.Read(make([]byte, 4096))
					ended <- err
				}()
				by := plainTransport(dialInTurn(t, ours))
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				began := time.Now()
				got, err := send(by, request(ctx, t, "http://example.com", "text"))
				if took := time.Since(began); took != limit {
					t.Errorf("it took %v of %v", took, limit)
				}
				switch {
				case test.answer && (err != nil || !got.broken || got.body != "half"):
					t.Errorf("got %+v, %v", got, err)
				case !test.answer && !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("got %+v, %v", got, err)
				}
				if err := <-ended; !errors.Is(err, io.EOF) {
					t.Errorf("the connection is open: %v", err)
				}
			})
		})
	}
	t.Run("Canceled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer func() { _ = theirs.Close() }()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			stopped := errors.New("stopped")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(limit, func() { cancel(stopped) })
			if _, err := send(plainTransport(dialInTurn(t, ours)), request(ctx, t, "http://example.com", "")); !errors.Is(
				err, stopped) {
				t.Errorf("got %v", err)
			}
			if _, err := send(plainTransport(dialInTurn(t)), request(ctx, t, "http://example.com", "")); !errors.Is(
				err, stopped) {
				t.Errorf("a request after its context: %v", err)
			}
		})
	})
}
