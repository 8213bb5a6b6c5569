package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
)

// serveSlowly starts a server whose clients have 300 ms for the next part, with TLS or without.
func serveSlowly(t *testing.T, limits *connections, secure bool, h http.HandlerFunc) (address string) {
	t.Helper()
	return serveWithin(t, 300*time.Millisecond, limits, secure, h)
}

// serveWithin starts a server whose clients have a time for the next part, with TLS or without.
func serveWithin(
	t *testing.T, limit time.Duration, limits *connections, secure bool, h http.HandlerFunc,
) (address string) {
	t.Helper()
	var set Settings
	set.Bind(flag.NewFlagSet("", flag.ContinueOnError))
	set.Data, set.writeTimeLimit = t.TempDir(), limit
	var config *tls.Config
	if secure {
		var err error
		if config, _, err = set.tlsConfig(time.Now, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: tcp, connections: limits, plain: !secure, progress: set.writeTimeLimit}
	server := set.httpServer(h, config, slog.New(slog.DiscardHandler))
	go func() {
		if secure {
			_ = server.ServeTLS(l, "", "")
			return
		}
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { _ = server.Close() })
	return tcp.Addr().String()
}

func noLimits() *connections {
	return newConnections(1000, 1000, nil, slog.New(slog.DiscardHandler))
}

// TestSlowReaders checks that a client that reads nothing does not keep its connection or stream, and that one that
// reads slowly gets everything.
func TestSlowReaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 32<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 1)
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for part := make([]byte, 1<<20); ; {
			if _, err := w.Write(part); err != nil {
				ended <- struct{}{}
				return
			}
		}
	}
	large := func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, file)
		ended <- struct{}{}
	}
	insecure := &tls.Config{InsecureSkipVerify: true}
	for name, test := range map[string]struct {
		h      http.HandlerFunc
		secure bool
		dial   func(address string) (io.Closer, error)
	}{
		"Plain":     {h: endless, dial: func(address string) (io.Closer, error) { return net.Dial("tcp", address) }},
		"PlainFile": {h: large, dial: func(address string) (io.Closer, error) { return net.Dial("tcp", address) }},
		"TLS": {h: endless, secure: true, dial: func(address string) (io.Closer, error) {
			return tls.Dial("tcp", address, insecure)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			limits := noLimits()
			c, err := test.dial(serveSlowly(t, limits, test.secure, test.h))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c.(io.Writer), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			wantEnd(t, ended)
		})
	}
	t.Run("HTTP2Stream", func(t *testing.T) { // the connection is read, the stream is not
		address := serveSlowly(t, noLimits(), true, endless)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, ForceAttemptHTTP2: true}}
		resp, err := client.Get("https://" + address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.ProtoMajor != 2 {
			t.Fatalf("HTTP/%d", resp.ProtoMajor)
		}
		wantEnd(t, ended)
	})
	t.Run("HTTP2IdleStream", func(t *testing.T) { // nothing is written for longer than the limit
		address := serveSlowly(t, noLimits(), true, func(w http.ResponseWriter, _ *http.Request) {
			for range 2 {
				_, _ = io.WriteString(w, "event\n")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(600 * time.Millisecond)
			}
		})
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, ForceAttemptHTTP2: true}}
		resp, err := client.Get("https://" + address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "event\nevent\n" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("SlowButSteady", func(t *testing.T) {
		const limit = 3 * time.Second // enough for a client on a busy machine, which takes its parts late
		resp, err := http.Get("http://" + serveWithin(t, limit, noLimits(), false, large))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		total, begun := int64(0), time.Now()
		for { // 4 MiB of 32 at a time: all of them take longer than the limit
			n, err := io.CopyN(io.Discard, resp.Body, 4<<20)
			total += n
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("cut off after %d bytes and %s: %v", total, time.Since(begun), err)
			}
			time.Sleep(limit / 7)
		}
		if total != 32<<20 || time.Since(begun) < limit {
			t.Errorf("%d bytes in %s", total, time.Since(begun))
		}
		<-ended
	})
}

// TestProgressConn_Deadline checks that a deadline which somebody else has set is kept until it is taken back, and that
// to take back none costs nothing: net/http does so after every answer.
func TestProgressConn_Deadline(t *testing.T) {
	inner := new(deadlineConn)
	c := newProgressConn(inner, nil, time.Minute)
	write := func() { _, _ = c.Write([]byte("x")) }
	foreign := time.Now().Add(time.Second)
	for _, step := range []struct {
		name string
		do   func()
		set  int // how often the deadline was set so far
	}{
		{"an answer", write, 1},
		{"net/http takes back none", func() { _ = c.SetWriteDeadline(time.Time{}) }, 1},
		{"the next answer", write, 1},
		{"somebody sets one", func() { _ = c.SetWriteDeadline(foreign) }, 2},
		{"a part under it", write, 2},
		{"it is taken back", func() { _ = c.SetWriteDeadline(time.Time{}) }, 3},
		{"a part after it", write, 4},
	} {
		if step.do(); inner.set != step.set {
			t.Errorf("%s: the deadline was set %d times, want %d", step.name, inner.set, step.set)
		}
		if step.name == "a part under it" && !inner.deadline.Equal(foreign) {
			t.Errorf("%s: the deadline is %v, want %v", step.name, inner.deadline, foreign)
		}
	}
	if left := time.Until(inner.deadline); left < c.progress/2 {
		t.Errorf("the last part has %v", left)
	}
}

// deadlineConn counts how often its deadline is set.
type deadlineConn struct {
	net.Conn
	deadline time.Time
	set      int
}

func (c *deadlineConn) Write(p []byte) (int, error) { return len(p), nil }

func (c *deadlineConn) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	c.set++
	return nil
}

func wantEnd(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the response waits for a client that reads nothing")
	}
}

// TestConnectionLimits checks the limits, what a client that is over them is told, and that places become free.
func TestConnectionLimits(t *testing.T) {
	quick := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	local := netip.MustParsePrefix("127.0.0.0/8")
	for name, test := range map[string]struct {
		limits *connections
		open   int // that are accepted
		reason string
	}{
		"Total":   {newConnections(3, 10, nil, slog.New(slog.DiscardHandler)), 3, tooMany},
		"Address": {newConnections(10, 2, nil, slog.New(slog.DiscardHandler)), 2, tooManyFromAddress},
		"Proxy":   {newConnections(4, 2, []netip.Prefix{local}, slog.New(slog.DiscardHandler)), 4, tooMany},
	} {
		t.Run(name, func(t *testing.T) {
			address := serveSlowly(t, test.limits, false, quick)
			ask := func(c net.Conn) int {
				t.Helper()
				if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				id := resp.Header.Get("X-Request-Id")
				if resp.StatusCode == http.StatusServiceUnavailable &&
					(resp.Header.Get("Retry-After") == "" || !bytes.Contains(body, []byte(`"code":"service-unavailable"`)) ||
						uuid.Validate(id) != nil || !bytes.Contains(body, []byte(`"request_id":"`+id+`"`))) {
					t.Errorf("refused with %v %s", resp.Header, body)
				}
				return resp.StatusCode
			}
			dial := func() net.Conn {
				t.Helper()
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			var open []net.Conn
			for range test.open {
				c := dial()
				if got := ask(c); got != http.StatusOK {
					t.Fatalf("connection %d: %d", len(open)+1, got)
				}
				open = append(open, c)
			}
			if got := ask(dial()); got != http.StatusServiceUnavailable {
				t.Errorf("a connection over the limit: %d", got)
			}
			if test.limits.refused[test.reason] != 1 {
				t.Errorf("refused: %v", test.limits.refused)
			}
			_ = open[0].Close()
			must.Eventually(t, time.Minute, "the server has noticed that a connection was closed", func() bool {
				c := dial()
				defer c.Close() // else its refusal stays under way, and only so many are
				return ask(c) == http.StatusOK
			})
		})
	}
}

func TestConnectionLimit_Descriptors(t *testing.T) {
	var set Settings
	set.Bind(flag.NewFlagSet("", flag.ContinueOnError))
	for descriptors, want := range map[int]int{256: 128, 1024: 512, 4096: 3456, 1 << 20: 20_000} {
		if got := set.connectionLimit(descriptors); got != want {
			t.Errorf("of %d descriptors %d are for clients, want %d", descriptors, got, want)
		}
	}
	if set.MaxConnections = 7; set.connectionLimit(1024) != 7 {
		t.Error("--max-connections is not taken")
	}
}

func TestAddressOf(t *testing.T) {
	counted := func(remote string) string { return clientOf(addressOf(remoteConn{remote: remote})).String() }
	expect.Results(t, counted, map[string]string{
		"192.0.2.7:1": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8::1:2:3:4]:1": "2001:db8::",
		"[fe80::1%lo]:1": "fe80::",
	})
}

// TestRefusedUpload: a client that still sends gets the whole answer and its end, not a reset in the middle.
func TestRefusedUpload(t *testing.T) {
	for _, secure := range []bool{false, true} {
		address := serveSlowly(t, noLimits(), secure, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if secure {
			c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		}
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n%s", make([]byte, 500_000))
		answer, err := io.ReadAll(c)
		if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 429 ")) {
			t.Errorf("with TLS %v: %q, %v", secure, answer, err)
		}
	}
}

// TestTrustedProxies_IPv6: a proxy is known by its address, not by the network that a client counts as.
func TestTrustedProxies_IPv6(t *testing.T) {
	proxy, other := netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("2001:db8::8")
	limits := newConnections(10, 1, []netip.Prefix{netip.PrefixFrom(proxy, 128)}, slog.New(slog.DiscardHandler))
	for range 3 {
		expect.Equal(t, "from the proxy", limits.take(proxy), "")
	}
	expect.Equal(t, "from its network", limits.take(other), tooManyFromAddress)
	for range 3 {
		limits.release(proxy)
	}
	expect.Equal(t, "after all have ended", limits.take(other), "")
	expect.Equal(t, "one more", limits.take(other), tooManyFromAddress)
}

type remoteConn struct {
	net.Conn
	remote string
}

func (c remoteConn) RemoteAddr() net.Addr { return textAddr(c.remote) }

type textAddr string

func (a textAddr) Network() string { return "tcp" }
func (a textAddr) String() string  { return string(a) }
