package http1_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/http1"
)

const (
	maxHeader   = 8 << 10
	idleTimeout = 30 * time.Second
	handshake   = 5 * time.Second
)

// transport returns a transport that trusts the servers of httptest.
func transport(maxIdle int) *http1.Transport {
	return http1.New(http1.Config{
		Dial: new(net.Dialer).DialContext, TLS: trusting(), HandshakeTimeout: handshake, MaxHeaderBytes: maxHeader,
		MaxIdle: maxIdle, IdleTimeout: idleTimeout,
	})
}

// dialer opens connections.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// plainTransport returns a transport without TLS, which may be used in a bubble, and keeps two idle connections.
func plainTransport(dial dialer) *http1.Transport {
	return http1.New(http1.Config{
		Dial: dial, TLS: &tls.Config{MinVersion: tls.VersionTLS12}, HandshakeTimeout: handshake, MaxHeaderBytes: maxHeader,
		MaxIdle: 2, IdleTimeout: idleTimeout,
	})
}

// trusting trusts the certificate that all servers of httptest have.
func trusting() *tls.Config {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// answer is what is seen of a response.
type answer struct {
	status int
	proto  string
	header http.Header
	body   string
	broken bool // the body did not end as it should
	last   bool // of the connection
}

// answerOf reads a response to its end.
func answerOf(response *http.Response) answer {
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Proto, response.Header, string(body), err != nil, response.Close}
}

// post sends a text and reads the answer.
func post(t testing.TB, by http.RoundTripper, url, text string) (answer, error) {
	t.Helper()
	return send(by, request(t.Context(), t, url, text))
}

func request(ctx context.Context, t testing.TB, url, text string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func send(by http.RoundTripper, r *http.Request) (answer, error) {
	response, err := by.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	return answerOf(response), nil
}

// serve answers the requests on a connection, until there is no further answer, and then closes it.
func serve(c net.Conn, answers ...string) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	for _, text := range answers {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

// scripted is a connection that accepts so many bytes, and then fails to write; it has an answer.
type scripted struct {
	net.Conn
	accepts int
	written strings.Builder
	answer  *strings.Reader
	silent  bool // after the answer; else it ends
	closed  atomic.Bool
}

func (s *scripted) Write(p []byte) (int, error) {
	n := min(len(p), s.accepts)
	s.accepts -= n
	s.written.Write(p[:n])
	if n < len(p) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

func (s *scripted) Read(p []byte) (int, error) {
	if s.silent && s.answer.Len() == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return s.answer.Read(p)
}

func (s *scripted) SetReadDeadline(time.Time) error { return nil }
func (s *scripted) SetDeadline(time.Time) error     { return nil }
func (s *scripted) Close() error                    { s.closed.Store(true); return nil }

// dialInTurn returns a dialer that gives these connections in turn.
func dialInTurn(t testing.TB, all ...net.Conn) dialer {
	return func(context.Context, string, string) (net.Conn, error) {
		if len(all) == 0 {
			t.Error("one more connection was opened")
			return nil, io.ErrUnexpectedEOF
		}
		c := all[0]
		all = all[1:]
		return c, nil
	}
}
