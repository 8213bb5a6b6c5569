package http1

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// serverConn is a connection whose requests are answered here.
type serverConn struct {
	server *Server
	front  *front
	conn   FrontConn
	made   time.Time
	cancel context.CancelFunc // of the context of all requests

	read     [maxHead]byte
	have     int // bytes in read
	request  request
	response response

	began atomic.Int64 // when the request came that is being answered, as the time since epoch; 0: none is

	mu     sync.Mutex
	served bool   // a request
	closed bool   // no other one is answered
	watch  *watch // of the request that is being answered; nil: there is none
}

var epoch = time.Now()

// watch reads while a request is answered, and so notices when the client goes away.
type watch struct {
	done chan struct{} // closed at the end
	n    int           // bytes of the next request that have come
	err  error
}

func newServerConn(f *front, conn FrontConn) *serverConn {
	c := &serverConn{server: f.server, front: f, conn: conn, made: time.Now()}
	ctx := context.WithValue(context.Background(), http.ServerContextKey, f.server.Server)
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, conn.LocalAddr())
	ctx, c.cancel = context.WithCancel(ctx)
	if f.server.ConnContext != nil {
		ctx = f.server.ConnContext(ctx, conn)
	}
	c.request.init(ctx, conn)
	c.response = response{
		conn: conn, unread: &c.request.body.left, closing: &f.server.closing, header: make(http.Header),
	}
	return c
}

// serve answers requests until the connection ends or is given away.
func (c *serverConn) serve() {
	other := false
	defer func() { // also when a handler ends its goroutine
		if v := recover(); v != nil {
			c.logPanic(v)
		}
		c.cancel()
		if other {
			c.server.remove(c)
			c.front.give(c.conn)
			return
		}
		c.linger()
		_ = c.conn.Close()
		c.server.remove(c)
	}()
	other = c.serveTaken()
}

// lingerTime is how long a client that still sends has to read its answer: what comes after the connection is closed
// takes back what was sent. It is that of net/http.
const lingerTime = 500 * time.Millisecond

// linger waits before the connection is closed, where the client still sends.
func (c *serverConn) linger() {
	half, ok := c.conn.(interface{ CloseWrite() error })
	if ok && c.request.body.left.Load() > 0 && half.CloseWrite() == nil {
		time.Sleep(lingerTime)
	}
}

// serveTaken answers requests that are taken, until the connection ends or another request comes.
func (c *serverConn) serveTaken() (other bool) {
	for wait := c.server.ReadHeaderTimeout; ; wait = cmp.Or(c.server.IdleTimeout, c.server.ReadTimeout) {
		if c.have == 0 {
			_ = c.conn.SetReadDeadline(deadlineIn(wait)) // fails on a closed connection, as the read then does
			if c.have, _ = c.conn.Read(c.read[:]); c.have == 0 {
				return false
			}
		}
		size, ok := c.request.parse(c.read[:c.have], c.server.Takes)
		if !ok {
			c.conn.Unread(bytes.Clone(c.read[:c.have]))
			return c.conn.SetReadDeadline(time.Time{}) == nil
		}
		if !c.answer() || !c.endWatch() || c.server.closing.Load() {
			return false
		}
		c.have = copy(c.read[:], c.read[size:c.have])
	}
}

func deadlineIn(d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// answer calls the handler and sends its answer. It reports whether there may be another request.
func (c *serverConn) answer() (keep bool) {
	if !c.begin() {
		return false
	}
	if c.request.body.left.Load() > 0 && c.conn.SetReadDeadline(deadlineIn(c.server.ReadTimeout)) != nil {
		return false
	}
	c.response.begin()
	c.server.Handler.ServeHTTP(&c.response, &c.request.Request)
	keep = c.response.finish()
	c.response.end()
	return keep
}

// logPanic logs a panic as net/http does.
func (c *serverConn) logPanic(v any) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return
	}
	to := cmp.Or(c.server.ErrorLog, log.Default())
	to.Printf("http: panic serving %v: %v\n%s", c.conn.RemoteAddr(), v, debug.Stack())
}

// closeWaiting closes the connection if it waits for a request. The first one of a new connection may be on its way.
func (c *serverConn) closeWaiting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.Load() == 0 && (c.served || time.Since(c.made) > newAge) {
		c.closed = true
		_ = c.conn.Close()
	}
}

// begin begins a request, if it can still be answered.
func (c *serverConn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began.Store(int64(time.Since(epoch)))
	c.served = true
	return !c.closed
}

// watchSlow begins to watch whether the client goes away, if its request has been answered for long.
func (c *serverConn) watchSlow() {
	if !c.slow() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.slow() || c.watch != nil || c.request.body.left.Load() > 0 || c.have == len(c.read) {
		return
	}
	if c.conn.SetReadDeadline(time.Time{}) != nil {
		c.cancel() // it has been closed
		return
	}
	w, next := &watch{done: make(chan struct{})}, c.read[c.have:]
	c.watch = w
	go func() {
		defer close(w.done)
		if w.n, w.err = c.conn.Read(next); w.err != nil && !errors.Is(w.err, os.ErrDeadlineExceeded) {
			c.cancel()
		}
	}()
}

// slow reports whether a request has been answered for long.
func (c *serverConn) slow() bool {
	began := c.began.Load()
	return began != 0 && time.Since(epoch)-time.Duration(began) >= watchInterval
}

// endWatch ends the watch, if there is one. It reports whether the client is still there.
func (c *serverConn) endWatch() bool {
	c.mu.Lock()
	c.began.Store(0)
	w := c.watch
	c.watch = nil
	c.mu.Unlock()
	if w == nil {
		return true
	}
	if c.conn.SetReadDeadline(longAgo) != nil {
		return false
	}
	<-w.done
	c.have += w.n
	return w.err == nil || errors.Is(w.err, os.ErrDeadlineExceeded)
}
