package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// startServer runs a server with all listeners on free ports until the test ends.
func startServer(t *testing.T, bodyTimeLimit time.Duration) *Server {
	t.Helper()
	var set Settings
	set.Bind(flag.NewFlagSet("", flag.ContinueOnError))
	set.Data, set.bodyTimeLimit = t.TempDir(), bodyTimeLimit
	set.Listen, set.TLSListen, set.OpsListen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	return run(t, set, slog.New(slog.DiscardHandler))
}

// run runs a server until the test ends.
func run(t *testing.T, set Settings, log *slog.Logger) *Server {
	t.Helper()
	app, err := Begin(t.Context(), set, log)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	ready, started := io.Pipe()
	go func() { done <- s.Run(ctx, started) }()
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSlowBodies checks that a body that never ends cannot keep a connection, on any listener and route.
func TestSlowBodies(t *testing.T) {
	s := startServer(t, 300*time.Millisecond)
	for _, c := range []struct{ listener, path string }{
		{"listen", "/portal/sign-in"},
		{"listen", "/portal/forgot"},
		{"listen", "/desk/sign-in"},
		{"listen", "/v1/desk/orders/next"},
		{"listen", "/v1/integrations/orders"},
		{"listen", "/docs"},
		{"listen", "/nowhere"},
		{"tls-listen", "/portal/sign-in"},
		{"ops-listen", "/healthz"},
	} {
		t.Run(c.listener+strings.ReplaceAll(c.path, "/", "-"), func(t *testing.T) {
			t.Parallel()
			conn := dial(t, s, c.listener)
			var answer bytes.Buffer
			began := time.Now()
			go dribble(conn, c.path)
			if err := conn.SetReadDeadline(began.Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&answer, conn); err != nil && time.Since(began) > 9*time.Second {
				t.Errorf("the connection is still open after %v: %.80s", time.Since(began), answer.String())
			}
		})
	}
}

func dial(t *testing.T, s *Server, listener string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.listener[listener].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if listener == "tls-listen" {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// dribble sends a form byte by byte until the server closes the connection.
func dribble(conn net.Conn, path string) {
	_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000\r\n\r\n", path)
	for err == nil {
		time.Sleep(20 * time.Millisecond)
		_, err = io.WriteString(conn, "x")
	}
}
