package http1

import (
	"bufio"
	"context"
	"math"
	"net"
	"net/http"
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
	looked    error // what looking for an end gave
	taken     [1]byte
}

func newConn(t *Transport, to destination, stream, socket net.Conn) *conn {
	c := &conn{Conn: stream, transport: t, to: to, left: math.MaxInt64}
	c.in, c.out = bufio.NewReader(c), bufio.NewWriter(c)
	if s, ok := socket.(syscall.Conn); ok {
		c.socket, _ = s.SyscallConn()
	}
	return c
}

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
	c.release = context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
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
