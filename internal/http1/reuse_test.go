package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/http1"
	"github.com/assayhq/assay/internal/testkit/tcpproxy"
)

const (
	ok   = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	none = "HTTP/1.1 204 No Content\r\n\r\n"
)

// TestKeep sends two requests, and counts the connections.
func TestKeep(t *testing.T) {
	read := func(r *http.Response) error { _, err := io.Copy(io.Discard, r.Body); return err }
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		use    func(*http.Response) error
		close  bool // asked for by the client
		want   int64
	}{
		"Read": {use: read, want: 1, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "all of it")
		}},
		"Chunks": {use: read, want: 1, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
		}},
		"Empty": {
			want: 1, answer: func(http.ResponseWriter, *http.Request) {}, use: func(*http.Response) error { return nil },
		},
		"NoContent": {
			want: 1, answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
			use: func(*http.Response) error { return nil },
		},
		"ReadInPart": {
			want: 2, answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "all of it") },
			use: func(r *http.Response) error { _, err := r.Body.Read(make([]byte, 1)); return err },
		},
		"ServerCloses": {use: read, want: 2, answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
		}},
		"ClientCloses": {use: read, want: 2, close: true, answer: func(http.ResponseWriter, *http.Request) {}},
	} {
		t.Run(name, func(t *testing.T) {
			server, connections := tcpproxy.StartTLS(t, test.answer)
			by := transport(2)
			for range 2 {
				r := request(t.Context(), t, server.URL, "text")
				r.Close = test.close
				response, err := by.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				if err := test.use(response); err != nil {
					t.Error(err)
				}
				if err := errors.Join(response.Body.Close(), response.Body.Close()); err != nil {
					t.Error(err)
				}
			}
			if got := connections.Load(); got != test.want {
				t.Errorf("%d connections, want %d", got, test.want)
			}
		})
	}
}

// TestUnaskedAnswer checks that what a server sends too much is not taken for the next answer.
func TestUnaskedAnswer(t *testing.T) {
	for name, answer := range map[string]string{"Body": ok + "more", "Answer": ok + ok, "NoBody": none + ok} {
		first := &scripted{accepts: 4096, answer: strings.NewReader(answer), silent: true}
		second := &scripted{accepts: 4096, answer: strings.NewReader("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")}
		by := plainTransport(dialInTurn(t, first, second))
		if got, err := post(t, by, "http://example.com", ""); err != nil || got.status > 204 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if got, err := post(t, by, "http://example.com", ""); err != nil || got.status != http.StatusCreated {
			t.Errorf("%s: then %+v, %v", name, got, err)
		}
		if !first.closed.Load() {
			t.Errorf("%s: the connection is kept", name)
		}
	}
}

// corked is a connection whose writes can be held back, so that they arrive together.
type corked struct {
	net.Conn
	held *bytes.Buffer // nil: they are not
}

func (c *corked) Write(p []byte) (int, error) {
	if c.held != nil {
		return c.held.Write(p)
	}
	return c.Conn.Write(p)
}

// TestUnaskedRecords is TestUnaskedAnswer for what arrives with the answer in records of TLS of its own.
func TestUnaskedRecords(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	for name, more := range map[string]func(c *tls.Conn) error{
		"Nothing": func(*tls.Conn) error { return nil },
		"Answer":  func(c *tls.Conn) error { _, err := io.WriteString(c, ok); return err },
		"Body":    func(c *tls.Conn) error { _, err := io.WriteString(c, "OK"); return err },
		"Goodbye": (*tls.Conn).CloseWrite,
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+" "+tls.VersionName(version), func(t *testing.T) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = listener.Close() }()
				config := certificate.TLS.Clone()
				config.MinVersion, config.MaxVersion, config.NextProtos = version, version, nil
				var connections atomic.Int64
				go func() {
					for {
						socket, err := listener.Accept()
						if err != nil {
							return
						}
						connections.Add(1)
						go answerTogether(socket, config, more)
					}
				}()
				by := transport(2)
				for n := range 3 {
					text := strings.Repeat("x", n+1)
					if got, err := post(t, by, "https://"+listener.Addr().String(), text); err != nil || got.body != text {
						t.Errorf("request %d: %+v, %v", n, got, err)
					}
				}
				want := int64(3)
				if name == "Nothing" {
					want = 1
				}
				if got := connections.Load(); got != want {
					t.Errorf("%d connections, want %d", got, want)
				}
			})
		}
	}
}

// answerTogether answers with the body of the request, and more that arrives at the same time.
func answerTogether(socket net.Conn, config *tls.Config, more func(c *tls.Conn) error) {
	defer func() { _ = socket.Close() }()
	below := &corked{Conn: socket}
	c := tls.Server(below, config)
	for in := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		below.held = new(bytes.Buffer)
		_, err = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		err = errors.Join(err, more(c), socket.SetWriteDeadline(time.Time{})) // which a goodbye sets
		held := below.held.Bytes()
		below.held = nil
		if _, failed := socket.Write(held); failed != nil || err != nil {
			return
		}
	}
}

// TestOneAtATime checks that requests do not wait for connections of a server that serves one after the other.
func TestOneAtATime(t *testing.T) {
	server, _ := tcpproxy.StartTLS(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	target := server.Listener.Addr().String()
	free := make(chan struct{}, 1)
	by := http1.New(http1.Config{
		TLS: trusting(), HandshakeTimeout: time.Minute, MaxHeaderBytes: maxHeader, MaxIdle: 2, IdleTimeout: idleTimeout,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			select {
			case free <- struct{}{}: // and never again
				return new(net.Dialer).DialContext(ctx, network, target)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for range 5 {
				if got, err := send(by, request(ctx, t, server.URL, "text")); err != nil || got.body != "text" {
					return fmt.Errorf("got %+v, %w", got, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// TestOwnConnection checks that a request which closes its connection does not use another's.
func TestOwnConnection(t *testing.T) {
	server, connections := tcpproxy.StartTLS(t, func(http.ResponseWriter, *http.Request) {})
	by := transport(2)
	for n, own := range []bool{false, true, false} {
		r := request(t.Context(), t, server.URL, "text")
		r.Close = own
		if _, err := send(by, r); err != nil {
			t.Fatal(err)
		}
		if want := []int64{1, 2, 2}[n]; connections.Load() != want {
			t.Errorf("%d connections after %d requests, want %d", connections.Load(), n+1, want)
		}
	}
}

// TestClosedWhileIdle checks that a connection is not used that the server has closed.
func TestClosedWhileIdle(t *testing.T) {
	var requests atomic.Int64
	server, connections := tcpproxy.StartTLS(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	by := transport(2)
	for n := range int64(3) {
		if _, err := post(t, by, server.URL, "text"); err != nil {
			t.Fatal(err)
		}
		if requests.Load() != n+1 || connections.Load() != n+1 {
			t.Errorf("%d requests on %d connections after %d", requests.Load(), connections.Load(), n+1)
		}
		server.CloseClientConnections()
	}
}

// TestNotRepeated checks that a request is sent once that the server may have got.
func TestNotRepeated(t *testing.T) {
	var requests atomic.Int64
	server, _ := tcpproxy.StartTLS(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if requests.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	})
	by := transport(2)
	if _, err := post(t, by, server.URL, "text"); err != nil {
		t.Fatal(err)
	}
	if got, err := post(t, by, server.URL, "text"); err == nil || requests.Load() != 2 {
		t.Errorf("got %+v after %d requests", got, requests.Load())
	}
}

// TestClosedInTheMoment checks that a request of which nothing could be sent goes to another connection.
func TestClosedInTheMoment(t *testing.T) {
	sent := func() int { // by a request
		c := &scripted{accepts: 4096, answer: strings.NewReader(ok)}
		if _, err := post(t, plainTransport(dialInTurn(t, c)), "http://example.com", "text"); err != nil {
			t.Fatal(err)
		}
		return c.written.Len()
	}()
	prepare := func(more int) (first, second *scripted, by *http1.Transport) {
		first = &scripted{accepts: sent + more, answer: strings.NewReader(ok), silent: true}
		second = &scripted{accepts: 4096, answer: strings.NewReader(ok)}
		by = plainTransport(dialInTurn(t, first, second))
		if _, err := post(t, by, "http://example.com", "text"); err != nil {
			t.Fatal(err)
		}
		return first, second, by
	}
	t.Run("NothingSent", func(t *testing.T) {
		first, second, by := prepare(0)
		if got, err := post(t, by, "http://example.com", "text"); err != nil || got.body != "ok" {
			t.Errorf("got %+v, %v", got, err)
		}
		if !first.closed.Load() || second.written.String() != first.written.String() {
			t.Errorf("sent %q on the second connection", second.written.String())
		}
	})
	t.Run("BodyIsGone", func(t *testing.T) {
		_, second, by := prepare(0)
		r := request(t.Context(), t, "http://example.com", "text")
		r.GetBody = nil
		if got, err := send(by, r); err == nil || second.written.Len() > 0 {
			t.Errorf("got %+v; sent %q", got, second.written.String())
		}
	})
	t.Run("SomethingSent", func(t *testing.T) {
		_, second, by := prepare(1)
		got, err := post(t, by, "http://example.com", "text")
		if !errors.Is(err, io.ErrClosedPipe) || second.written.Len() > 0 {
			t.Errorf("got %+v, %v; sent %q", got, err, second.written.String())
		}
	})
	t.Run("NewConnection", func(t *testing.T) {
		by := plainTransport(dialInTurn(t, &scripted{answer: strings.NewReader(ok)}))
		if got, err := post(t, by, "http://example.com", "text"); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestEarlyAnswer checks that an answer counts although not all of the request could be sent.
func TestEarlyAnswer(t *testing.T) {
	c := &scripted{
		accepts: 50, answer: strings.NewReader("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig"),
	}
	got, err := post(t, plainTransport(dialInTurn(t, c)), "http://example.com", strings.Repeat("x", 100_000))
	if err != nil || got.status != http.StatusRequestEntityTooLarge || got.body != "big" {
		t.Errorf("got %+v, %v", got, err)
	}
	if !c.closed.Load() {
		t.Error("the connection is kept")
	}
}

// pipes is a dialer to servers that answer what they are asked, and remember their ends.
type pipes struct{ opened, ended atomic.Int64 }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.opened.Add(1)
	go func() {
		defer p.ended.Add(1)
		serve(theirs, ok, ok, ok, ok, ok)
	}()
	return ours, nil
}

func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(pipes)
		by := plainTransport(p.dial)
		try := func(after time.Duration, url string, opened, ended int64) {
			t.Helper()
			time.Sleep(after)
			if _, err := post(t, by, url, ""); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if p.opened.Load() != opened || p.ended.Load() != ended {
				t.Errorf("after %v: %d connections opened, %d ended, want %d and %d", after, p.opened.Load(), p.ended.Load(),
					opened, ended)
			}
		}
		try(0, "http://a.example", 1, 0)
		try(idleTimeout-1, "http://a.example", 1, 0) // is in use again in time
		try(idleTimeout/2, "http://b.example", 2, 0)
		try(idleTimeout*3/4, "http://b.example", 2, 1) // the other one has gone
		try(idleTimeout, "http://a.example", 3, 2)
		time.Sleep(idleTimeout)
		synctest.Wait()
		if p.ended.Load() != 3 {
			t.Error("the last connection is open")
		}
	})
}

// TestMaxIdle checks that the connection which is idle for the longest time makes place.
func TestMaxIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(pipes)
		by := plainTransport(p.dial)
		for _, host := range []string{"a", "b", "a", "c", "a", "c"} {
			if _, err := post(t, by, "http://"+host+".example", ""); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if p.opened.Load() != 3 || p.ended.Load() != 1 {
			t.Errorf("%d connections opened, %d ended", p.opened.Load(), p.ended.Load())
		}
		if _, err := post(t, by, "http://b.example", ""); err != nil {
			t.Fatal(err)
		}
		if p.opened.Load() != 4 {
			t.Error("the connection that was used last was kept")
		}
		time.Sleep(idleTimeout)
		synctest.Wait()
	})
}
