package main

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync/atomic"
	"time"
)

// delayProxy forwards connections to a database and lets every byte arrive later by half of a round trip in each
// direction, as a network does. It counts round trips.
type delayProxy struct {
	listener net.Listener
	target   string
	delay    time.Duration // in each direction
	trips    atomic.Int64
}

// startProxy starts a proxy for a database whose round trips take longer by the given time.
func startProxy(ctx context.Context, dsn string, roundTrip time.Duration) (*delayProxy, error) {
	address, err := url.Parse(dsn)
	if err != nil {
		return nil, errors.New("the DSN cannot be read") // it contains the password
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &delayProxy{listener: listener, target: address.Host, delay: roundTrip / 2}
	go p.accept(ctx)
	return p, nil
}

// dsn returns that of a database through the proxy.
func (p *delayProxy) dsn(direct string) (string, error) {
	address, err := url.Parse(direct)
	if err != nil {
		return "", errors.New("the DSN cannot be read")
	}
	address.Host = p.listener.Addr().String()
	return address.String(), nil
}

func (p *delayProxy) close() error { return p.listener.Close() }

func (p *delayProxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &proxied{proxy: p}
		go c.forward(client, server, true)
		go c.forward(server, client, false)
	}
}

// proxied is a connection through the proxy.
type proxied struct {
	proxy   *delayProxy
	waiting atomic.Bool // the client has sent something that was not answered yet
}

type packet struct {
	content []byte
	due     time.Time
}

// forward copies one direction: a goroutine reads, this one writes what is due.
func (c *proxied) forward(from, to net.Conn, asks bool) {
	packets := make(chan packet, 1024)
	go func() {
		defer close(packets)
		for {
			buffer := make([]byte, 16<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				if asks {
					if !c.waiting.Swap(true) {
						c.proxy.trips.Add(1)
					}
				} else {
					c.waiting.Store(false)
				}
				packets <- packet{buffer[:n], time.Now().Add(c.proxy.delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range packets {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.content); err != nil {
			break
		}
	}
	_ = to.Close() // the other direction ends with it
	for range packets {
	}
}
