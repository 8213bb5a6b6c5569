package netguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

// patient is how long requests may take that are answered: the machine may be busy.
const patient = time.Minute

func trusting(server *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func port(t *testing.T, server *httptest.Server) string {
	t.Helper()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// answer is a response whose body was read and closed.
type answer struct {
	status int
	body   string
}

func get(t *testing.T, client *http.Client, url string) (answer, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(body)}, err
}

// client returns an HTTP client with a guarded transport that does not follow redirects.
func client(g *Guard, config *tls.Config, timeout time.Duration) *http.Client {
	return &http.Client{
		Transport:     g.Transport(config, 4),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: timeout,
	}
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

func TestControl(t *testing.T) {
	var strict Guard
	for _, test := range []struct{ network, address, want string }{
		{"tcp4", "8.8.8.8:443", ""},
		{"tcp6", "[2606:4700:4700::1111]:8443", ""},
		{"tcp4", "127.0.0.1:443", ReasonLoopback},
		{"tcp4", "169.254.169.254:80", ReasonLinkLocal},
		{"tcp6", "[::1]:443", ReasonLoopback},
		{"tcp6", "[::ffff:127.0.0.1]:443", ReasonEmbeddedIPv4},
		{"tcp6", "[fe80::1%eth0]:443", ReasonZone},
		{"udp4", "8.8.8.8:53", ReasonNetwork},
		{"unix", "/run/some.sock", ReasonNetwork},
		{"tcp4", "example.com:443", ReasonInvalidHost},
		{"tcp4", "8.8.8.8", ReasonInvalidHost},
	} {
		if err := strict.Control(test.network, test.address, nil); ReasonOf(err) != test.want ||
			(err == nil) != (test.want == "") {
			t.Errorf("Control(%s, %s) = %v, want %q", test.network, test.address, err, test.want)
		}
	}
	private := Guard{AllowPrivate: true}
	if err := private.Control("tcp4", "127.0.0.1:443", nil); err != nil {
		t.Errorf("Control with AllowPrivate: %v", err)
	}
	if err := private.Control("unix", "/run/some.sock", nil); ReasonOf(err) != ReasonNetwork {
		t.Errorf("Control with AllowPrivate on a socket file: %v", err)
	}
}

// TestControlInDialer checks the guard in a dialer that resolves names itself.
func TestControlInDialer(t *testing.T) {
	server, connections := tcpproxy.StartTLS(t, ok)
	dialer := net.Dialer{Control: (&Guard{}).Control}
	_, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if ReasonOf(err) != ReasonLoopback || connections.Load() != 0 {
		t.Errorf("dial: %v after %d connections", err, connections.Load())
	}
}

func TestRebinding(t *testing.T) {
	for name, second := range map[string]struct{ addrs, reason string }{
		"Loopback":            {"127.0.0.1", ReasonLoopback},
		"Loopback6":           {"::1", ReasonLoopback},
		"Mapped":              {"::ffff:127.0.0.1", ReasonLoopback},
		"Metadata":            {"169.254.169.254", ReasonLinkLocal},
		"PublicAndThenInside": {"8.8.8.8,127.0.0.1", ReasonLoopback},
		"Gone":                {"", ReasonUnresolvable},
	} {
		t.Run(name, func(t *testing.T) {
			server, connections := tcpproxy.StartTLS(t, ok)
			g := &Guard{Resolver: &script{lists: []string{"93.184.215.14", second.addrs}}}
			if err := g.CheckHost(t.Context(), "example.com"); err != nil {
				t.Fatalf("the first answer is public, yet: %v", err)
			}
			got, err := get(t, client(g, trusting(server), patient), "https://example.com:"+port(t, server)+"/")
			if got != (answer{}) || ReasonOf(err) != second.reason {
				t.Errorf("request after rebinding: %v, want %s", err, second.reason)
			}
			if n := connections.Load(); n != 0 {
				t.Errorf("%d connections were made", n)
			}
		})
	}
}

// TestDialLooksUpOnce checks that the connection goes to a checked address, not to the result of a second lookup.
func TestDialLooksUpOnce(t *testing.T) {
	server, _ := tcpproxy.StartTLS(t, ok)
	resolver := &script{lists: []string{"127.0.0.1", "192.0.2.1"}}
	g := &Guard{AllowPrivate: true, Resolver: resolver}
	if _, err := get(t, client(g, trusting(server), patient),
		"https://example.com:"+port(t, server)+"/"); err != nil {
		t.Fatal(err)
	}
	if resolver.asked != 1 {
		t.Errorf("%d lookups for one connection", resolver.asked)
	}
}

func TestClientRefusesEveryForm(t *testing.T) {
	server, connections := tcpproxy.StartTLS(t, ok)
	strict := client(&Guard{Resolver: world}, trusting(server), patient)
	for host, want := range map[string]string{
		"127.0.0.1":          ReasonLoopback,
		"[::1]":              ReasonLoopback,
		"[::ffff:127.0.0.1]": ReasonEmbeddedIPv4,
		"localhost":          ReasonLoopback,
		"127.1":              ReasonNumericHost,
		"2130706433":         ReasonNumericHost,
		"127.0.0.1.":         ReasonLoopback,
		"mixed-last.example": ReasonPrivate,
		"nowhere.example":    ReasonUnresolvable,
		"１２７.０.０.１":          ReasonInvalidHost,
	} {
		got, err := get(t, strict, "https://"+host+":"+port(t, server)+"/")
		if got != (answer{}) || ReasonOf(err) != want {
			t.Errorf("%s: %v, want %s", host, err, want)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestClientDoesNotFollowRedirects(t *testing.T) {
	inside, insideSaw := tcpproxy.StartTLS(t, ok)
	for _, status := range []int{301, 302, 303, 307, 308} {
		outside, _ := tcpproxy.StartTLS(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL+"/secret", status)
		})
		g := &Guard{AllowPrivate: true}
		got, err := get(t, client(g, trusting(outside), patient), outside.URL)
		if err != nil || got.status != status {
			t.Errorf("a redirect %d is answered with %v, %v", status, got, err)
		}
	}
	if n := insideSaw.Load(); n != 0 {
		t.Errorf("%d connections to the redirect's target", n)
	}
}

// TestTransportGuardsRedirects checks that a client that follows redirects cannot reach internal addresses.
func TestTransportGuardsRedirects(t *testing.T) {
	inside, insideSaw := tcpproxy.StartTLS(t, ok)
	outside := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Hostname() == "example.com" {
			return &http.Response{
				StatusCode: http.StatusFound, Request: r, Body: http.NoBody, Header: http.Header{"Location": {inside.URL}},
			}, nil
		}
		return (&Guard{Resolver: world}).Transport(trusting(inside), 1).RoundTrip(r)
	})
	_, err := get(t, &http.Client{Transport: outside}, "https://example.com/")
	if ReasonOf(err) != ReasonLoopback || insideSaw.Load() != 0 {
		t.Errorf("followed redirect: %v after %d connections", err, insideSaw.Load())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestClientIgnoresProxies(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	server, _ := tcpproxy.StartTLS(t, ok)
	g := &Guard{AllowPrivate: true, Resolver: answers{"example.com": "127.0.0.1"}}
	if got, err := get(t, client(g, trusting(server), patient),
		"https://example.com:"+port(t, server)+"/"); err != nil || got.body != "ok" {
		t.Errorf("request: %+v, %v", got, err)
	}
}

func TestClientKeepsConnections(t *testing.T) {
	server, connections := tcpproxy.StartTLS(t, ok)
	lenient := client(&Guard{AllowPrivate: true}, trusting(server), patient)
	for range 3 {
		if _, err := get(t, lenient, server.URL); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for three requests", n)
	}
}

func TestClientDoesNotAskForCompression(t *testing.T) {
	var accepted atomic.Value
	server, _ := tcpproxy.StartTLS(t, func(_ http.ResponseWriter, r *http.Request) {
		accepted.Store(r.Header.Get("Accept-Encoding"))
	})
	if _, err := get(t, client(&Guard{AllowPrivate: true}, trusting(server), patient), server.URL); err != nil {
		t.Fatal(err)
	}
	if got := accepted.Load(); got != "" {
		t.Errorf("Accept-Encoding: %v", got)
	}
}

func TestClientBoundsHeaders(t *testing.T) {
	server, _ := tcpproxy.StartTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", maxHeaderBytes+1024))
	})
	if _, err := get(t, client(&Guard{AllowPrivate: true}, trusting(server), patient), server.URL); err == nil {
		t.Error("a header of more than the bound is accepted")
	}
}

func TestClientTimeout(t *testing.T) {
	release := make(chan struct{})
	server, _ := tcpproxy.StartTLS(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	_, err := get(t, client(&Guard{AllowPrivate: true}, trusting(server), 50*time.Millisecond), server.URL)
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		t.Errorf("a silent server gives %v", err)
	}
}

func TestTransportDistrusts(t *testing.T) {
	server, _ := tcpproxy.StartTLS(t, ok)
	config := &tls.Config{}
	transport := (&Guard{AllowPrivate: true}).Transport(config, 1)
	if got := transport.TLS.MinVersion; got != tls.VersionTLS12 {
		t.Errorf("TLS from version %x", got)
	}
	if config.MinVersion != 0 {
		t.Error("the caller's configuration was changed")
	}
	for name, transport := range map[string]http.RoundTripper{
		"EmptyConfig": transport,
		"NoConfig":    (&Guard{AllowPrivate: true}).Transport(nil, 1),
	} {
		if _, err := get(t, &http.Client{Transport: transport}, server.URL); err == nil {
			t.Errorf("%s: a certificate of an unknown authority is trusted", name)
		}
	}
}

func TestDialTriesEveryAddress(t *testing.T) {
	server, _ := tcpproxy.StartTLS(t, ok)
	g := &Guard{AllowPrivate: true, Resolver: answers{"example.com": "127.0.0.2,127.0.0.1"}}
	conn, err := g.DialContext(t.Context(), "tcp", "example.com:"+port(t, server))
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.RemoteAddr().String(); got != server.Listener.Addr().String() {
		t.Errorf("connected to %s", got)
	}
	_ = conn.Close()

	g.Resolver = answers{"example.com": "127.0.0.2,127.0.0.3"}
	if _, err := g.DialContext(t.Context(), "tcp", "example.com:"+port(t, server)); err == nil ||
		!strings.Contains(err.Error(), "127.0.0.2") {
		t.Errorf("no address answers, yet: %v", err)
	}
}

func TestDialRefusesMalformedAddresses(t *testing.T) {
	for _, address := range []string{"", "example.com", ":443", "[::1", "a b:443"} {
		if _, err := (&Guard{Resolver: world}).DialContext(t.Context(), "tcp", address); ReasonOf(err) != ReasonInvalidHost {
			t.Errorf("DialContext(%q) = %v", address, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Guard{AllowPrivate: true}).DialContext(ctx, "tcp", "127.0.0.1:1"); err == nil {
		t.Error("a canceled dial succeeds")
	}
}
