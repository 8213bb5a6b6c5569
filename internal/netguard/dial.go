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
	connectTimeout    = 5 * time.Second // for all addresses of a host
	minConnectTimeout = 1 * time.Second // for one address of several
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

// Control is a net.Dialer.Control function that refuses addresses which are not public. It sees the address that
// the operating system connects to.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return &RefusedError{Host: address, Reason: ReasonNetwork}
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{Host: address, Reason: ReasonInvalidHost, cause: err}
	}
	if !g.Ports.Allow(target.Port()) {
		return &RefusedError{Host: address, Reason: ReasonPort}
	}
	return g.checkAddr(target.Addr().String(), target.Addr())
}

// DialContext resolves the host once, checks all its addresses as CheckHost does, and connects to one of them.
// There is no second lookup that could return another address.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &RefusedError{Host: address, Reason: ReasonInvalidHost, cause: err}
	}
	if err := g.CheckPort(host, port); err != nil {
		return nil, err
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	dialer := net.Dialer{Timeout: max(connectTimeout/time.Duration(len(addrs)), minConnectTimeout), Control: g.Control}
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

// Transport returns an HTTP transport that guards every connection. It ignores proxy settings and does not
// decompress. tlsConfig may be nil; it is not changed.
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
		DisableCompression:     true, // against decompression bombs
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdleForEachHost,
		IdleConnTimeout:        idleTimeout,
		ExpectContinueTimeout:  continueWaitTimeout,
	}
}

// Client returns an HTTP client with a guarded Transport that does not follow redirects. timeout covers the
// complete exchange, from the lookup to the end of the response body.
func (g *Guard) Client(tlsConfig *tls.Config, timeout time.Duration) *http.Client {
	return &http.Client{
		Transport:     g.Transport(tlsConfig),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: timeout,
	}
}
