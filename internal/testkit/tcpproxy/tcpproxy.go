// Package tcpproxy is a TCP proxy for tests of connections that die without a word, as behind firewalls that forget
// them.
package tcpproxy

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy forwards connections to a server.
type Proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	links []*link
	dead  bool // nothing comes through
	lose  []byte
}

type link struct {
	client, server net.Conn
	cut            chan struct{}
}

// Start starts a proxy in front of a server, host:port, for the time of the test.
func Start(t testing.TB, server string) *Proxy {
	t.Helper()
	return StartAt(t, "127.0.0.1", server)
}

// StartAt starts a proxy that listens at an address of this machine.
func StartAt(t testing.TB, address, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: server}
	go p.accept()
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, l := range p.links {
			_ = l.client.Close()
			_ = l.server.Close()
		}
	})
	return p
}

// Before starts a proxy in front of the server of a URL and returns the URL through it.
func Before(t testing.TB, target string) (_ *Proxy, through string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := Start(t, u.Host)
	u.Host = p.Addr()
	return p, u.String()
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		dead := p.dead
		p.mu.Unlock()
		if dead {
			l := &link{client, client, make(chan struct{})}
			close(l.cut)
			p.mu.Lock()
			p.links = append(p.links, l)
			p.mu.Unlock()
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client, server, make(chan struct{})}
		p.mu.Lock()
		p.links = append(p.links, l)
		p.mu.Unlock()
		go l.copy(server, client, func([]byte) bool { return false })
		go l.copy(client, server, p.loses)
	}
}

// Lose lets the next answer in which the text stands get lost with its connection.
func (p *Proxy) Lose(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = []byte(text)
}

// loses reports whether an answer of the server is the one to be lost.
func (p *Proxy) loses(answer []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lose) == 0 || !bytes.Contains(answer, p.lose) {
		return false
	}
	p.lose = nil
	return true
}

// Swallow makes the connections of the moment dead: nothing comes through, and neither side is told. Later connections
// work. It returns how many there were.
func (p *Proxy) Swallow() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, l := range p.links {
		select {
		case <-l.cut:
		default:
			close(l.cut)
			n++
		}
	}
	return n
}

// Cut lets nothing through, on connections of the moment and on later ones, until it is called with false. Connections
// of the meantime stay dead.
func (p *Proxy) Cut(dead bool) {
	p.mu.Lock()
	p.dead = dead
	p.mu.Unlock()
	if dead {
		p.Swallow()
	}
}

// copy forwards until one side ends, or something is to be lost; then the other is ended too, unless the link is cut.
func (l *link) copy(to, from net.Conn, lost func([]byte) bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-l.cut:
			if err != nil {
				return
			}
			continue
		default:
		}
		if lost(buf[:n]) {
			_, _ = from.Close(), to.Close()
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}
