package http1

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an http.Server that serves plain requests itself: where nothing about a request is out of the ordinary, it
// costs one read, one call of the handler and one write, all in one goroutine. A connection on which any other request
// comes is given to the http.Server, with what was read of it, and stays there.
//
// The handler of a request that is taken must not use request and writer after it has returned. Its answer is sent when
// it returns, or earlier where it is long and its Content-Length is known; it cannot be flushed. The context is that of
// the connection: it ends when that ends, and not when the handler returns.
type Server struct {
	*http.Server

	// Takes reports whether requests for a path are taken.
	Takes func(path string) bool

	closing   atomic.Bool
	accepting sync.WaitGroup // fronts that still accept connections

	mu       sync.Mutex
	open     map[*serverConn]struct{}
	watching bool // a timer runs
}

// FrontConn is a connection that can be given to the http.Server after it has been read from. Listeners of a Server
// accept such; others are given at once.
type FrontConn interface {
	net.Conn

	// Unread lets the next reads return b again.
	Unread(b []byte)

	// WriteBuffers writes several buffers, with one system call where it can.
	WriteBuffers(parts *net.Buffers) (int64, error)
}

// Serve is that of http.Server.
func (s *Server) Serve(l net.Listener) error { return s.Server.Serve(newFront(s, l)) }

const (
	endInterval = 10 * time.Millisecond // between two looks whether all connections have ended
	newAge      = 5 * time.Second       // for which a connection may be without its first request, as in net/http
)

// Shutdown is that of http.Server. A request that is answered here meanwhile is the last one of its connection.
func (s *Server) Shutdown(ctx context.Context) error {
	s.closing.Store(true)
	var others atomic.Pointer[error]
	go func() {
		err := s.Server.Shutdown(ctx)
		s.accepting.Wait()
		others.Store(&err)
	}()
	tick := time.NewTicker(endInterval)
	defer tick.Stop()
	for {
		ended := others.Load() // before the look at the connections: none is accepted after it
		if none := s.closeWaiting(); none && ended != nil {
			return *ended
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// closeWaiting closes the connections that wait for a request, and reports whether there are no connections left.
func (s *Server) closeWaiting() (none bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.closeWaiting()
	}
	return len(s.open) == 0
}

// Close is that of http.Server.
func (s *Server) Close() error {
	s.closing.Store(true)
	err := s.Server.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.conn.Close()
	}
	return err
}

func (s *Server) add(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*serverConn]struct{})
	}
	s.open[c] = struct{}{}
	s.watchLater()
}

func (s *Server) remove(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// watchInterval is how long a request may be answered before its connection is watched. To watch each of them from its
// beginning, as net/http does, costs a goroutine and a system call, mostly for nothing.
const watchInterval = 100 * time.Millisecond

// watchLater starts the timer while there are connections. The caller holds the lock.
func (s *Server) watchLater() {
	if !s.watching && len(s.open) > 0 {
		s.watching = true
		time.AfterFunc(watchInterval, s.watch)
	}
}

// watch watches the connections whose requests take long.
func (s *Server) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.watchSlow()
	}
	s.watching = false
	s.watchLater()
}
