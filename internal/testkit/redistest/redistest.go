// Package redistest gives a test a Redis server of its own.
package redistest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/need"
)

const (
	startTimeout = 20 * time.Second
	portAttempts = 5
)

// Server is a Redis server that keeps nothing on disk. Its methods are not safe for concurrent use, except URL.
type Server struct {
	program  string
	port     int
	password string
	process  *child.Process // nil: not running
}

// Start starts a server for the test and returns its redis:// URL. It skips the test in the fast run and fails it when there is no
// Redis. The server ends with the test.
func Start(t testing.TB) string {
	t.Helper()
	return New(t).URL()
}

// New is Start for tests that stop the server and start it again.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		program:  need.Program(t, "redis-server", "redis-server"),
		password: rand.Text(), // also tells this server from another one that took the port first
	}
	var err error
	for range portAttempts {
		if s.port, err = child.FreePort(); err != nil {
			t.Fatal(err)
		}
		if err = s.Start(); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop the test's Redis: %v", err)
		}
	})
	return s
}

// URL is the server's address, with the password.
func (s *Server) URL() string {
	return fmt.Sprintf("redis://:%s@%s/0", s.password, s.address())
}

func (s *Server) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// Start starts the server again after Stop, on the same port and empty.
func (s *Server) Start() error {
	if s.process != nil {
		return errors.New("start Redis: it is running")
	}
	cmd := exec.Command(s.program, "--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--requirepass", s.password,
		"--save", "", "--appendonly", "no", "--dir", "/tmp")
	var output child.Output
	cmd.Stdout, cmd.Stderr = &output, &output
	var err error
	if s.process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	if err := s.waitUntilReady(); err != nil {
		return errors.Join(fmt.Errorf("start Redis on port %d: %w\n%s", s.port, err, output.String()), s.Stop())
	}
	return nil
}

// Stop ends the server at once; clients see a closed connection. Stopping a stopped server does nothing.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	process := s.process
	s.process = nil
	if err := process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-process.Done()
	return nil
}

func (s *Server) waitUntilReady() error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := s.ping()
		if err == nil {
			return nil
		}
		select {
		case <-s.process.Done():
			return fmt.Errorf("the server ended: %w", s.process.Wait())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		}
	}
}

// ping logs in and asks for a sign of life.
func (s *Server) ping() error {
	connection, err := net.DialTimeout("tcp", s.address(), time.Second)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(connection, "AUTH %s\r\nPING\r\n", s.password); err != nil {
		return err
	}
	const want = "+OK\r\n+PONG\r\n"
	answer := make([]byte, len(want))
	if _, err := io.ReadFull(connection, answer); err != nil {
		return err
	}
	if string(answer) != want {
		return fmt.Errorf("the server answered %q", answer)
	}
	return nil
}
