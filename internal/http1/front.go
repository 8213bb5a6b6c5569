package http1

import (
	"net"
	"sync"
)

// front is the listener of the http.Server of a Server: what comes out of it are the connections that are given away.
type front struct {
	net.Listener
	server *Server
	given  chan net.Conn
	failed chan error
	done   chan struct{}
	close  func()
}

func newFront(s *Server, l net.Listener) *front {
	f := &front{
		Listener: l, server: s, given: make(chan net.Conn), failed: make(chan error), done: make(chan struct{}),
	}
	f.close = sync.OnceFunc(func() { close(f.done) })
	s.accepting.Go(f.acceptAll)
	return f
}

// acceptAll accepts connections until the listener is closed. Its errors are those of Accept: http.Server knows which
// of them pass, and waits before it calls that again.
func (f *front) acceptAll() {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			select {
			case f.failed <- err:
				continue
			case <-f.done:
				return
			}
		}
		if own, ok := c.(FrontConn); ok {
			served := newServerConn(f, own)
			f.server.add(served)
			go served.serve()
		} else {
			go f.give(c)
		}
	}
}

// give lets Accept return a connection.
func (f *front) give(c net.Conn) {
	select {
	case f.given <- c:
	case <-f.done:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (f *front) Accept() (net.Conn, error) {
	select {
	case c := <-f.given:
		return c, nil
	case err := <-f.failed:
		return nil, err
	case <-f.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (f *front) Close() error {
	f.close()
	return f.Listener.Close()
}
