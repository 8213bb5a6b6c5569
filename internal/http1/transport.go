// Package http1 is HTTP/1.1 where net/http costs too much: it sends requests in the goroutine of their caller, and
// serves plain ones in that of their connection. What is out of the ordinary is left to net/http.
//
// An http.Transport hands each request and each response from goroutine to goroutine: one of the caller, two of the
// connection. It needs them to send a body while it reads the answer to it. Where a request is small and its response
// ends, an exchange costs a quarter less without the others.
package http1

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Config configures a Transport. All of it has to be set.
type Config struct {
	Dial             func(ctx context.Context, network, address string) (net.Conn, error)
	TLS              *tls.Config // without the server's name
	HandshakeTimeout time.Duration
	MaxHeaderBytes   int64         // of a response
	MaxIdle          int           // connections that wait for another request, to all servers
	IdleTimeout      time.Duration // how long they wait
}

// Transport is an http.RoundTripper for small requests. It reads the response after it has sent the request, keeps
// connections for the next one, and knows no proxies, cookies or compression. It is safe for concurrent use.
type Transport struct {
	Config
	idle *pool
}

// New returns a transport. The configuration of TLS is not changed.
func New(c Config) *Transport {
	c.TLS = c.TLS.Clone()
	c.TLS.NextProtos = []string{"http/1.1"}
	return &Transport{Config: c, idle: newPool(c.MaxIdle, c.IdleTimeout)}
}

// HandshakeError says why a TLS handshake has failed.
type HandshakeError struct{ Err error }

func (e *HandshakeError) Error() string { return "TLS handshake: " + e.Err.Error() }

func (e *HandshakeError) Unwrap() error { return e.Err }

// RoundTrip sends a request and returns its response, whose body has to be closed. A connection that turns out to have
// been closed while it was idle is replaced; a request of which the server may have got something is not sent again. A
// request that is to close its connection gets one of its own.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		c, err := t.connect(r.Context(), destination{r.URL.Scheme, r.URL.Host}, r.Close)
		if err != nil {
			closeBody(r)
			return nil, err
		}
		response, err := c.exchange(r)
		if err == nil {
			return response, nil
		}
		_ = c.Close()
		if !c.reused || c.sent || r.Context().Err() != nil {
			return nil, err
		}
		if r, err = repeated(r); err != nil {
			return nil, err
		}
	}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// repeated returns the request once more, with all of its body.
func repeated(r *http.Request) (*http.Request, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	if r.GetBody == nil {
		return nil, errors.New("the connection was closed, and the request's body cannot be sent again")
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	next := *r
	next.Body = body
	return &next, nil
}

// destination is where a connection leads. Requests to the same one share connections.
type destination struct{ scheme, host string }

// address returns what to dial, and the name that a certificate has to have; empty: without TLS.
func (d destination) address() (address, name string, err error) {
	u := url.URL{Host: d.host}
	port, name := u.Port(), u.Hostname()
	switch d.scheme {
	case "https":
		return net.JoinHostPort(name, cmp.Or(port, "443")), name, nil
	case "http":
		return net.JoinHostPort(name, cmp.Or(port, "80")), "", nil
	}
	return "", "", fmt.Errorf("the scheme %q is not one of HTTP", d.scheme)
}

// connect returns an idle connection that is still open, or a new one, whichever is there first: a server may not
// accept another one before it has answered on those that it has. own asks for a new one.
func (t *Transport) connect(ctx context.Context, to destination, own bool) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if own {
		return t.open(ctx, to)
	}
	c, next := t.idle.take(to)
	for c != nil {
		if c.again() {
			return c, nil
		}
		c, next = t.idle.take(to)
	}
	return t.await(ctx, to, next)
}

// await returns the next connection that becomes idle, or a new one.
func (t *Transport) await(ctx context.Context, to destination, next chan *conn) (*conn, error) {
	defer t.idle.leave(to, next)
	opening := t.start(ctx, to)
	for {
		select {
		case c := <-next:
			if c.again() {
				opening.leave(t.idle)
				return c, nil
			}
		case opened := <-opening.done:
			return opened.conn, opened.err
		case <-ctx.Done():
			opening.cancel()
			opening.leave(t.idle)
			return nil, context.Cause(ctx)
		}
	}
}

// opening is a connection that is being opened.
type opening struct {
	cancel context.CancelFunc
	done   chan opened // gets one
}

type opened struct {
	conn *conn
	err  error
}

// start opens a connection, which may outlive the request that it is for.
func (t *Transport) start(ctx context.Context, to destination) *opening {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	o := &opening{cancel, make(chan opened, 1)}
	go func() {
		defer cancel()
		c, err := t.open(ctx, to)
		o.done <- opened{c, err}
	}()
	return o
}

// leave keeps the connection for others.
func (o *opening) leave(idle *pool) {
	go func() {
		if opened := <-o.done; opened.err == nil {
			idle.put(opened.conn)
		}
	}()
}

// open opens a connection.
func (t *Transport) open(ctx context.Context, to destination) (*conn, error) {
	address, name, err := to.address()
	if err != nil {
		return nil, err
	}
	socket, err := t.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := newConn(t, to, socket)
	if name == "" {
		return c, nil
	}
	if err := c.secure(ctx, name); err != nil {
		_ = c.Close()
		return nil, &HandshakeError{err}
	}
	return c, nil
}
