package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
)

const (
	// writePart is what a client has to accept of a response within the write time limit: one that reads at least 2 KiB a
	// second is served.
	writePart = httpx.WritePart

	// maxDefaultConnections bounds memory where the descriptor limit does not: a connection takes about 40 KiB.
	maxDefaultConnections = 20_000

	// opsConnections is kept for operators, whatever happens at the other listeners.
	opsConnections = 64
)

// reserve is how many descriptors are kept for what is not a client: database, files and deliveries, but not more than
// half of all.
func (s *Settings) reserve(descriptors int) int {
	return min(descriptors/2, 2*opsConnections+s.WebhookInFlight)
}

// connectionLimit returns --max-connections, or what the descriptor limit leaves.
func (s *Settings) connectionLimit(descriptors int) int {
	if s.MaxConnections > 0 {
		return s.MaxConnections
	}
	return min(descriptors-s.reserve(descriptors), maxDefaultConnections)
}

// connections counts the open connections of clients, over all public listeners.
type connections struct {
	limit, perAddress int
	trusted           []netip.Prefix // proxies, which are not limited by address
	log               *slog.Logger
	answers           chan struct{} // a place for each refusal that is being answered

	mu        sync.Mutex
	open      int
	byAddress map[netip.Addr]int
	refused   map[string]int64 // by reason
	saidAt    time.Time
}

// Reasons of a refusal.
const (
	tooMany            = "total"
	tooManyFromAddress = "address"
)

func newConnections(limit, perAddress int, trusted []netip.Prefix, log *slog.Logger) *connections {
	return &connections{
		limit: limit, perAddress: perAddress, trusted: trusted, log: log, answers: make(chan struct{}, opsConnections),
		byAddress: make(map[netip.Addr]int), refused: map[string]int64{tooMany: 0, tooManyFromAddress: 0},
	}
}

// addressOf returns the address of the other end.
func addressOf(c net.Conn) netip.Addr {
	end, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return end.Addr().Unmap().WithZone("")
}

// clientOf returns what is counted as one client: an IPv4 address, or the network of an IPv6 host.
func clientOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		if network, err := a.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return a
}

// take counts a connection, or returns why it is too many.
func (c *connections) take(address netip.Addr) (reason string) {
	proxy := slices.ContainsFunc(c.trusted, func(n netip.Prefix) bool { return n.Contains(address) })
	from := clientOf(address)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open >= c.limit:
		reason = tooMany
	case c.perAddress > 0 && !proxy && c.byAddress[from] >= c.perAddress:
		reason = tooManyFromAddress
	default:
		c.open++
		c.byAddress[from]++
		return ""
	}
	c.refused[reason]++
	if now := time.Now(); now.Sub(c.saidAt) > time.Minute {
		c.saidAt = now
		c.log.Warn("connections are refused", "limit", reason, "open", c.open, "address", from.String(),
			"from_address", c.byAddress[from])
	}
	return reason
}

func (c *connections) release(address netip.Addr) {
	from := clientOf(address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.byAddress[from]--; c.byAddress[from] == 0 {
		delete(c.byAddress, from)
	}
}

// listener accepts connections within the limits, whose writes have to make progress.
type listener struct {
	net.Listener
	*connections
	plain    bool // clients speak HTTP without TLS, so that a refusal can be told
	progress time.Duration
}

// Accept returns the next connection that is not too many.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(c)
		if l.take(from) == "" {
			return newProgressConn(c, sync.OnceFunc(func() { l.release(from) }), l.progress), nil
		}
		l.refuse(c)
	}
}

const refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json; charset=utf-8\r\n" +
	"Retry-After: 5\r\nX-Request-Id: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"

const refusalBody = `{"statusCode":503,"code":"service-unavailable",` +
	`"message":"There are too many connections. Try again shortly.","details":{},` +
	`"timestamp":"%s","path":"","request_id":"%s"}`

// refuse tells the client to come back later where that is possible, and closes the connection.
func (l *listener) refuse(c net.Conn) {
	select {
	case l.answers <- struct{}{}:
	default:
		_ = c.Close()
		return
	}
	go func() {
		defer func() { <-l.answers }()
		defer func() { _ = c.Close() }()
		if !l.plain {
			return
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		id := uuid.New()
		body := fmt.Sprintf(refusalBody, time.Now().UTC().Format(wire.TimeFormat), id)
		if _, err := fmt.Fprintf(c, refusal, id, len(body), body); err != nil {
			return
		}
		if t, ok := c.(*net.TCPConn); ok { // what the client has sent is read, else closing takes the answer back
			_ = t.CloseWrite()
			_, _ = io.CopyN(io.Discard, t, writePart)
		}
	}()
}

// progressConn is a connection on which every part of what is written has to be accepted within a time.
type progressConn struct {
	net.Conn
	reading  readDeadline
	closed   func()
	set      atomic.Int64 // when the deadline was last set, as the time since epoch; 0: it is not
	foreign  atomic.Bool  // somebody else has set one
	progress time.Duration
}

var _ httpx.VectorConn = (*progressConn)(nil)

func newProgressConn(c net.Conn, closed func(), progress time.Duration) *progressConn {
	return &progressConn{Conn: c, reading: readDeadline{conn: c}, closed: closed, progress: progress}
}

// Close closes the connection and gives its place to another.
func (c *progressConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// SetDeadline replaces the deadline of this connection's own.
func (c *progressConn) SetDeadline(t time.Time) error {
	c.foreign.Store(!t.IsZero())
	c.set.Store(0)
	return errors.Join(c.Conn.SetWriteDeadline(t), c.reading.SetReadDeadline(t))
}

// Read reads until the deadline.
func (c *progressConn) Read(b []byte) (int, error) { return c.reading.Read(b) }

// SetReadDeadline sets the deadline of Read.
func (c *progressConn) SetReadDeadline(t time.Time) error { return c.reading.SetReadDeadline(t) }

// SetWriteDeadline replaces the deadline of this connection's own. net/http takes back one after every answer, which it
// has not set.
func (c *progressConn) SetWriteDeadline(t time.Time) error {
	if t.IsZero() && !c.foreign.Load() {
		return nil
	}
	c.foreign.Store(!t.IsZero())
	c.set.Store(0)
	return c.Conn.SetWriteDeadline(t)
}

// epoch is when the program has begun. Times since it are those of the clock that deadlines follow, which nobody sets.
var epoch = time.Now()

// extend gives the next part its time. The deadline is not set for every part: that would cost more than it is worth.
func (c *progressConn) extend() {
	now, set := int64(time.Since(epoch)), c.set.Load()
	if c.foreign.Load() || set != 0 && now-set < int64(c.progress/8) {
		return
	}
	c.set.Store(now)
	_ = c.Conn.SetWriteDeadline(time.Now().Add(c.progress)) // fails on a closed connection, as the write then does
}

// Write writes part by part.
func (c *progressConn) Write(b []byte) (int, error) { return httpx.WriteParts(c.Conn, b, c.extend) }

// WriteBuffers writes several buffers with one system call where they are one part together.
func (c *progressConn) WriteBuffers(parts *net.Buffers) (written int64, err error) {
	size := 0
	for _, b := range *parts {
		size += len(b)
	}
	if tcp, ok := c.Conn.(*net.TCPConn); ok && size <= writePart {
		c.extend()
		return parts.WriteTo(tcp)
	}
	return parts.WriteTo(struct{ io.Writer }{c})
}

// CloseWrite ends what is written, where the connection can.
func (c *progressConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ReadFrom copies a file part by part in the kernel, and anything else by Write.
func (c *progressConn) ReadFrom(src io.Reader) (written int64, err error) {
	tcp, isTCP := c.Conn.(*net.TCPConn)
	limited, isLimited := src.(*io.LimitedReader)
	if !isLimited {
		limited = &io.LimitedReader{R: src, N: 1<<63 - 1}
	}
	if _, isFile := limited.R.(*os.File); !isFile || !isTCP {
		return io.Copy(struct{ io.Writer }{c}, src)
	}
	for limited.N > 0 {
		c.extend()
		part := &io.LimitedReader{R: limited.R, N: min(limited.N, writePart)}
		n, err := tcp.ReadFrom(part)
		written += n
		limited.N -= n
		if err != nil || n == 0 {
			return written, err
		}
	}
	return written, nil
}
