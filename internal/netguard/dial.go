package netguard

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

const (
	connectTimeout    = 5 * time.Second // for all addresses of a host together
	minConnectTimeout = 1 * time.Second // for one of many
	handshakeTimeout  = 5 * time.Second
	idleTimeout       = 30 * time.Second
	pingAfter         = 15 * time.Second // without a frame on an HTTP/2 connection
	pingTimeout       = 5 * time.Second

	maxHeaderBytes      = 64 << 10
	maxIdle             = 256
	maxIdleForEachHost  = 4
	tlsMinVersion       = tls.VersionTLS12
	continueWaitTimeout = 1 * time.Second
)

// Control refuses, for net.Dialer, the address that is about to be dialled. It is the last word: it sees what the
// operating system will see.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return &RefusedError{Host: address, Reason: ReasonNetwork}
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{Host: address, Reason: ReasonInvalidHost, cause: err}
	}
	if g.AllowPrivate {
		return nil
	}
	if reason, public := Classify(target.Addr()); !public {
		return &RefusedError{Host: target.Addr().String(), Addr: target.Addr(), Reason: reason}
	}
	return nil
}

// DialContext resolves the host of address once, checks all it resolves to as CheckHost does, and connects to one
// of just these addresses: there is no second lookup that could answer differently.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &RefusedError{Host: address, Reason: ReasonInvalidHost, cause: err}
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	dialer := net.Dialer{
		Timeout: max(connectTimeout/time.Duration(len(addrs)), minConnectTimeout),
		Control: g.Control,
	}
	var first error
	for _, addr := range addrs {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("connect to %s: %w", host, first)
}

// Transport returns an HTTP transport whose every connection is guarded: no proxy, whatever the environment says, and
// answers taken as they are. tlsConfig may be nil; it is not changed.
func (g *Guard) Transport(tlsConfig *tls.Config) *http.Transport {
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tlsMinVersion}
	} else {
		tlsConfig = tlsConfig.Clone()
		tlsConfig.MinVersion = max(tlsConfig.MinVersion, tlsMinVersion)
	}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            g.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    handshakeTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		DisableCompression:     true, // a small answer must not unpack into a large one
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdleForEachHost,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  continueWaitTimeout,
	}
}

// Client returns an HTTP client on a Transport of its own. A redirect is returned as the answer that it is, never
// followed. timeout is for a whole exchange, from the lookup to the last byte of the answer's body.
func (g *Guard) Client(tlsConfig *tls.Config, timeout time.Duration) *http.Client {
	return &http.Client{
		Transport:     g.Transport(tlsConfig),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       timeout,
	}
}
