package netguard

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/assayhq/assay/internal/http1"
)

const (
	connectTimeout    = 5 * time.Second // for all addresses of a host
	minConnectTimeout = 1 * time.Second // for one address of several
	handshakeTimeout  = 5 * time.Second
	idleTimeout       = 30 * time.Second

	maxHeaderBytes = 64 << 10
	tlsMinVersion  = tls.VersionTLS12
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

// Transport returns an HTTP transport that guards every connection, and keeps so many idle ones at most. It follows no
// redirects, ignores proxy settings and does not decompress, against decompression bombs. tlsConfig may be nil; it is
// not changed.
func (g *Guard) Transport(tlsConfig *tls.Config, maxIdle int) *http1.Transport {
	config := &tls.Config{MinVersion: tlsMinVersion}
	if tlsConfig != nil {
		config = tlsConfig.Clone()
		config.MinVersion = max(config.MinVersion, tlsMinVersion)
	}
	return http1.New(http1.Config{
		Dial: g.DialContext, TLS: config, HandshakeTimeout: handshakeTimeout, MaxHeaderBytes: maxHeaderBytes,
		MaxIdle: maxIdle, IdleTimeout: idleTimeout,
	})
}
