package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
)

// serveBare is the role of the baseline server: read the body, write a body of the same size. The response of a
// path is set with PUT.
func serveBare(ctx context.Context) error {
	var answers sync.Map
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodPut {
			answers.Store(r.URL.Path, body)
			return
		}
		answer, _ := answers.Load(r.URL.Path)
		body, _ = answer.([]byte)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write(body) // to a client that may be gone
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(os.Stderr, "listening http=%s tls=- ops=-\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bare is a running bare server.
type bare struct {
	*server
}

func (s *suite) startBare(ctx context.Context) (*bare, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"=bare")
	running, err := startServer(ctx, cmd, filepath.Join(s.folder, "bare.log"))
	if err != nil {
		return nil, err
	}
	return &bare{running}, nil
}

// answer sets the response of a path.
func (b *bare) answer(ctx context.Context, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+b.http+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// server is a process that announces its addresses.
type server struct {
	http, ops string
	process   *child.Process
}

func (s *server) stop() error {
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.process.Done()
	return nil
}
