// Package redistest runs a real Redis for a test, which can be stopped, killed and started again.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/requires"
)

const (
	startTimeout = 30 * time.Second
	portAttempts = 5
)

// Server is a Redis with nothing in it and nothing on disk. Its methods are not safe for concurrent use.
type Server struct {
	program  string
	password string // empty: anybody may use it
	folder   string
	port     int
	process  *child.Process // nil: not running
	output   child.Output
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartProtected(t, "")
}

// StartProtected is Start with a password, without which nothing can be done.
func StartProtected(t testing.TB, password string) *Server {
	t.Helper()
	s := &Server{
		program:  requires.Program(t, "redis-server", "redis-server", "valkey-server"),
		password: password, folder: t.TempDir(),
	}
	t.Cleanup(func() { s.Kill(t) })
	var err error
	for range portAttempts {
		if s.port, err = child.FreePort(); err != nil {
			t.Fatal(err)
		}
		if err = s.start(); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// URL is where it listens, with the password.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: "/0"}
	if s.password != "" {
		u.User = url.UserPassword("", s.password)
	}
	return u.String()
}

// Restart starts it again after Kill, empty and on the same port, and returns once it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends it at once.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.process.Done()
	s.process = nil
}

// Pause keeps it from answering, with its connections open, until the returned function is called.
func (s *Server) Pause(t testing.TB) (goOn func()) {
	t.Helper()
	if err := s.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := s.process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// Client returns a client for the test's own looks.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *Server) start() error {
	cmd := exec.Command(s.program, "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.folder,
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--requirepass", s.password)
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	var err error
	if s.process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	if err := s.waitUntilReady(); err != nil {
		_ = s.process.Signal(syscall.SIGKILL)
		<-s.process.Done()
		s.process = nil
		return fmt.Errorf("start %s: %w\n%s", s.program, err, s.output.String())
	}
	return nil
}

func (s *Server) waitUntilReady() error {
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		return err
	}
	o.MaxRetries = -1
	c := redis.NewClient(o)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		if err = c.Ping(ctx).Err(); err == nil {
			return nil
		}
		select {
		case <-s.process.Done():
			return errors.New("it has ended")
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
