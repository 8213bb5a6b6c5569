package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/assayhq/assay/internal/testkit/child"
)

// serveBare is the role of the baseline server: read the body, write another. The response of a path with its query is
// set with PUT.
func serveBare(ctx context.Context) error {
	var answers sync.Map
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if r.Method == http.MethodPut {
			answers.Store(r.URL.RequestURI(), body)
			return
		}
		answer, _ := answers.Load(r.URL.RequestURI())
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

// launchBesideBare is launchFilled with a bare server beside it.
func (s *suite) launchBesideBare(ctx context.Context, e engine, w stock) (*shop, *bare, error) {
	launched, err := s.launchFilled(ctx, e, w)
	if err != nil {
		return nil, nil, err
	}
	running, err := s.startRole(ctx, "bare")
	if err != nil {
		return nil, nil, err
	}
	s.later(running.close)
	return launched, &bare{running}, nil
}

// mirror makes the server answer the requests of a load as its target did.
func (b *bare) mirror(ctx context.Context, of *target) (*target, error) {
	t := &target{address: b.http, process: b.process, ops: b.ops, status: of.status, requests: of.requests}
	for _, request := range of.requests {
		path := strings.Fields(string(firstLine(request.text)))[1]
		if _, err := exchange(ctx, http.MethodPut, "http://"+b.http+path, nil, request.want); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// server is a process that announces its addresses.
type server struct {
	http, ops string
	process   *child.Process
}

func (s *server) close() error {
	if err := s.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.process.Done()
	return nil
}
