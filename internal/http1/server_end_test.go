package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/http1"
)

// text answers every request in the same way.
var text = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { typed(w, 4, "text") })

// ask sends a request and reads its answer.
func ask(t testing.TB, c net.Conn, request string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return readResponse(t, c)
}

func readResponse(t testing.TB, c net.Conn) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response
}

// expectEnd checks that the server closes a connection.
func expectEnd(t testing.TB, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v; want the end", n, err)
	}
}

// TestServer_Shutdown checks what becomes of connections that wait, that are answered and that are new.
func TestServer_Shutdown(t *testing.T) {
	t.Parallel()
	begun, proceed := make(chan struct{}), make(chan struct{})
	s := start(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/taken/slow" {
			begun <- struct{}{}
			<-proceed
		}
		typed(w, 4, "text")
	}))
	waiting, slow, fresh := s.dial(t), s.dial(t), s.dial(t)
	ask(t, waiting, get("/taken/a"))
	if _, err := io.WriteString(slow, get("/taken/slow")); err != nil {
		t.Fatal(err)
	}
	<-begun
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(hurry); !errors.Is(err, context.Canceled) {
		t.Errorf("while a request is answered: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- s.Shutdown(t.Context()) }()
	expectEnd(t, waiting)
	close(proceed)
	if response := readResponse(t, slow); !response.Close {
		t.Error("the connection is said to go on")
	}
	expectEnd(t, slow)
	if response := ask(t, fresh, get("/taken/a")); !response.Close { // it was on its way
		t.Error("the new connection is said to go on")
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.address); err == nil {
		_ = c.Close()
		t.Error("a connection is accepted afterwards")
	}
}

// TestServer_Close checks that nothing is left.
func TestServer_Close(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error)
	s := start(t, true, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- r.Context().Err()
	}))
	c := s.dial(t)
	if _, err := io.WriteString(c, get("/taken/a")); err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	expectEnd(t, c)
}

// TestServer_Timeouts checks that connections on which nothing comes are closed.
func TestServer_Timeouts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		header, idle time.Duration
		sent         []string
	}{
		"New":           {header: 10 * time.Millisecond, idle: time.Minute},
		"Idle":          {header: time.Minute, idle: 10 * time.Millisecond, sent: []string{get("/taken/a")}},
		"IdleElsewhere": {header: time.Minute, idle: 10 * time.Millisecond, sent: []string{get("/other")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, true, text, func(s *http1.Server) { s.ReadHeaderTimeout, s.IdleTimeout = tt.header, tt.idle })
			c := s.dial(t)
			for _, request := range tt.sent {
				ask(t, c, request)
			}
			expectEnd(t, c)
		})
	}
	t.Run("HeadInParts", func(t *testing.T) {
		t.Parallel()
		s := start(t, true, text, func(s *http1.Server) { s.ReadHeaderTimeout = 10 * time.Millisecond })
		c := s.dial(t)
		if _, err := io.WriteString(c, "GET /taken/a HTTP/1.1\r\nHost"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(c) // perhaps a refusal of net/http, and then the end, before the deadline of dial
		expectEnd(t, c)
	})
}

// slowToClose is a listener that goes on accepting after it was told to close.
type slowToClose struct {
	net.Listener
	closing, proceed chan struct{}
	once             sync.Once
}

func (l *slowToClose) Close() error {
	l.once.Do(func() { close(l.closing) })
	<-l.proceed
	return l.Listener.Close()
}

// TestServer_ShutdownWaits checks that a shutdown waits for a connection that is accepted after its beginning.
func TestServer_ShutdownWaits(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &slowToClose{Listener: inner, closing: make(chan struct{}), proceed: make(chan struct{})}
	begun := make(chan struct{})
	var answered atomic.Bool
	s := &http1.Server{Takes: takes, Server: &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/taken/first" {
				return
			}
			close(begun)
			time.Sleep(100 * time.Millisecond) // it lasts longer than a shutdown that waits for nobody
			answered.Store(true)
		}),
	}}
	go func() { _ = s.Serve(frontListener{l}) }()
	at := &served{address: inner.Addr().String()}
	ask(t, at.dial(t), get("/taken/first")) // so that it serves before it is shut down
	ended := make(chan error)
	go func() { ended <- s.Shutdown(t.Context()) }()
	<-l.closing
	c := at.dial(t)
	if _, err := io.WriteString(c, get("/taken/a")); err != nil {
		t.Fatal(err)
	}
	<-begun
	close(l.proceed)
	if err := <-ended; err != nil || !answered.Load() {
		t.Errorf("ended with %v, answered %v", err, answered.Load())
	}
}

// TestServer_Goexit checks that a handler that ends its goroutine leaves nothing behind.
func TestServer_Goexit(t *testing.T) {
	t.Parallel()
	s := start(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
	c := s.dial(t)
	if _, err := io.WriteString(c, get("/taken/a")); err != nil {
		t.Fatal(err)
	}
	expectEnd(t, c)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServer_StalledBody checks that the client is told that its connection ends, where a body does not come that no
// handler reads.
func TestServer_StalledBody(t *testing.T) {
	t.Parallel()
	s := start(t, true, text, func(s *http1.Server) { s.ReadTimeout = 10 * time.Millisecond })
	c := s.dial(t)
	if response := ask(t, c, "POST /taken/a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc"); !response.Close {
		t.Error("the connection is said to go on")
	}
	expectEnd(t, c)
}

// TestServer_BodyAfterWatch sends the beginning of a request while another one is answered for long, and the rest
// afterwards.
func TestServer_BodyAfterWatch(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 1)
	s := start(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			begun <- struct{}{}
			time.Sleep(300 * time.Millisecond) // the time after which a connection is watched, and more
		}
		body, err := io.ReadAll(r.Body)
		typed(w, len(body), string(body))
		if err != nil {
			t.Error(err)
		}
	}))
	c := s.dial(t)
	if _, err := io.WriteString(c, get("/taken/a")); err != nil {
		t.Fatal(err)
	}
	<-begun
	if _, err := io.WriteString(c, "POST /taken/a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	readResponse(t, c)
	if response := ask(t, c, "def"); response.ContentLength != 6 {
		t.Errorf("%d bytes came", response.ContentLength)
	}
}
