package httpx

import (
	"context"
	"io"
	"net"
	"sync"
)

// Gather returns a listener whose connections send the header and the body of a large answer with one system call, and
// mostly in one packet less. net/http writes through a buffer of 4 KB: it sends the header and the beginning of the
// body when the buffer is full, and the rest after it. The server of the listener needs ConnContext.
func Gather(l net.Listener) net.Listener { return gatherListener{l} }

type gatherListener struct{ net.Listener }

func (l gatherListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	switch c := c.(type) {
	case VectorConn:
		return &gatherConn{VectorConn: c}, err
	case *net.TCPConn:
		return &gatherConn{VectorConn: tcpConn{c}}, err
	}
	return c, err
}

// VectorConn is a connection that writes several buffers with one system call, and copies files in the kernel.
type VectorConn interface {
	net.Conn
	io.ReaderFrom
	WriteBuffers(parts *net.Buffers) (int64, error)

	// CloseWrite tells the client that the answer has ended, before the connection is closed while it still sends:
	// net/http asks for it.
	CloseWrite() error
}

type tcpConn struct{ *net.TCPConn }

// WriteBuffers implements VectorConn.
func (c tcpConn) WriteBuffers(parts *net.Buffers) (int64, error) { return parts.WriteTo(c.TCPConn) }

type gatherKey struct{}

// ConnContext lets the answers on a connection find it.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if g, ok := c.(*gatherConn); ok {
		return context.WithValue(ctx, gatherKey{}, g)
	}
	return ctx
}

// gatherConn is a connection that can hold back a part of an answer until the next one. The goroutine that serves the
// connection is the only one that writes to it.
type gatherConn struct {
	VectorConn
	hold   bool   // more will be written before release
	held   []byte // what was written and is not sent yet, in buffer
	buffer *[maxHeld]byte
	client clientAddress // of the last request
	unread []byte        // what is read again
}

// Unread lets the next reads return b again.
func (c *gatherConn) Unread(b []byte) { c.unread = b }

func (c *gatherConn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.VectorConn.Read(p)
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

var heldBuffers = sync.Pool{New: func() any { return new([maxHeld]byte) }}

// maxHeld is the size of the buffer of net/http, whose content is what is held.
const maxHeld = 4 << 10

func (c *gatherConn) Write(p []byte) (int, error) {
	if c.hold && len(c.held) == 0 && len(p) <= maxHeld {
		c.buffer, _ = heldBuffers.Get().(*[maxHeld]byte) // the pool has no other type
		c.held = append(c.buffer[:0], p...)
		return len(p), nil
	}
	if len(c.held) == 0 {
		return c.VectorConn.Write(p)
	}
	parts := net.Buffers{c.held, p}
	n, err := c.WriteBuffers(&parts)
	sent := max(0, int(n)-len(c.held))
	heldBuffers.Put(c.buffer)
	c.held, c.buffer = nil, nil
	return sent, err
}

// release sends what is held.
func (c *gatherConn) release() error {
	c.hold = false
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Write(nil)
	return err
}
