package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// conn is a connection, which serves one request at a time.
type conn struct {
	net.Conn
	transport *Transport
	to        destination
	socket    syscall.RawConn // of the operating system; nil: not known
	in        *bufio.Reader
	out       *bufio.Writer
	left      int64 // how many more bytes may be read

	reused  bool        // it has served a request before this one
	sent    bool        // something of the request was sent
	release func() bool // ends the watch on the request's context, and reports whether it has not ended

	idleSince time.Time
	looked    error   // what silent has seen
	seen      [1]byte // and where
}

func newConn(t *Transport, to destination, socket net.Conn) *conn {
	c := &conn{Conn: socket, transport: t, to: to, left: math.MaxInt64}
	c.in, c.out = bufio.NewReader(c), bufio.NewWriter(c)
	if s, ok := socket.(syscall.Conn); ok {
		c.socket, _ = s.SyscallConn()
	}
	return c
}

// secure begins TLS with the server of a name.
func (c *conn) secure(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, c.transport.HandshakeTimeout)
	defer cancel()
	config := c.transport.TLS.Clone()
	config.ServerName = name
	secured := tls.Client(c.Conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	c.Conn = secured
	return nil
}

// again prepares an idle connection for another request, or closes it and returns false.
func (c *conn) again() bool {
	if !c.quiet() {
		_ = c.Close()
		return false
	}
	c.reused, c.sent = true, false
	return true
}

// peekTime is how long it may take to read what has arrived.
const peekTime = time.Millisecond

// quiet reports whether an idle connection is open and has nothing to read: what a server sends that was not asked is
// the end, or would be taken for the answer to the next request. It may lie in the TLS connection, which reads ahead,
// and it may be of TLS itself.
func (c *conn) quiet() bool {
	deadline := longAgo // without a look at the socket
	if !c.silent() {
		deadline = time.Now().Add(peekTime)
	}
	if c.SetReadDeadline(deadline) != nil {
		return false
	}
	_, err := c.in.Peek(1)
	return errors.Is(err, os.ErrDeadlineExceeded) && c.SetReadDeadline(time.Time{}) == nil
}

var longAgo = time.Unix(1, 0)

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLongHeader
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// Write implements io.Writer. TLS counts what has gone in whole records, so that nothing was sent as long as nothing is
// counted.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent = c.sent || n > 0
	return n, err
}

// exchange sends a request and reads the head of its response, within the time of the request's context.
func (c *conn) exchange(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	c.release = context.AfterFunc(ctx, func() { _ = c.SetDeadline(longAgo) })
	response, keep, err := c.answer(r)
	if err != nil {
		c.release()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	body := &answerBody{ReadCloser: response.Body, c: c, ended: response.Body == http.NoBody}
	body.keep = keep && !response.Close && !r.Close
	response.Body = body
	return response, nil
}

// answer sends a request and reads the head of its response. keep is false if the connection is of no more use. A
// server may answer before it has read all, and close the connection: then the answer counts.
func (c *conn) answer(r *http.Request) (response *http.Response, keep bool, err error) {
	failed := r.Write(c.out)
	if failed == nil {
		failed = c.out.Flush()
	}
	if failed != nil && !c.sent {
		return nil, false, failed
	}
	response, err = c.head(r)
	if err != nil && failed != nil {
		err = failed
	}
	return response, failed == nil && err == nil && response.StatusCode >= http.StatusOK, err
}

// head reads the head of the final response. A change of protocols, which nobody has asked for, is final.
func (c *conn) head(r *http.Request) (*http.Response, error) {
	c.left = c.transport.MaxHeaderBytes
	defer func() { c.left = math.MaxInt64 }()
	for {
		response, err := http.ReadResponse(c.in, r)
		if err != nil && c.left <= 0 {
			err = errLongHeader
		}
		if err != nil || response.StatusCode >= http.StatusOK || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

// errLongHeader ends a response.
var errLongHeader = errors.New("the header of the response is too long")

// answerBody gives the connection back when it is closed, if all of it was read.
type answerBody struct {
	io.ReadCloser
	c     *conn
	keep  bool // the connection may serve further requests
	ended bool
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// Close implements io.Closer. It does not read what is left.
func (b *answerBody) Close() error {
	c := b.c
	if c == nil {
		return nil
	}
	b.c = nil
	if c.release() && b.keep && b.ended && c.in.Buffered() == 0 {
		c.transport.idle.put(c)
		return nil
	}
	return c.Close()
}
