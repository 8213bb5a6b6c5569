package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

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
			s := start(t, true, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { typed(w, 4, "text") }))
			s.ReadHeaderTimeout, s.IdleTimeout = tt.header, tt.idle
			c := s.dial(t)
			for _, request := range tt.sent {
				ask(t, c, request)
			}
			expectEnd(t, c)
		})
	}
	t.Run("HeadInParts", func(t *testing.T) {
		t.Parallel()
		s := start(t, true, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { typed(w, 4, "text") }))
		s.ReadHeaderTimeout = 10 * time.Millisecond
		c := s.dial(t)
		if _, err := io.WriteString(c, "GET /taken/a HTTP/1.1\r\nHost"); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(c) // perhaps a refusal of net/http, and then the end, before the deadline of dial
		expectEnd(t, c)
	})
}
