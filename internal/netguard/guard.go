// Package netguard keeps connections to hosts that customers name away from everything that is not on the public
// internet: this machine, its network, cloud metadata services. A host is checked when it is registered, and again,
// on the address really dialled, for every connection, because what a name resolves to is in its owner's hand.
package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const lookupTimeout = 3 * time.Second

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guard decides which hosts may be called. The zero value is ready and strict.
type Guard struct {
	// AllowPrivate lets every address pass that a host resolves to, loopback included. It is for development.
	AllowPrivate bool
	// Resolver looks names up; nil is the system's.
	Resolver Resolver
}

// RefusedError says that a host must not be called. Its text is for logs, because it can name internal addresses;
// callers are told the Reason.
type RefusedError struct {
	Host   string     // as asked for
	Addr   netip.Addr // the address that was refused, if it came to that
	Reason string     // one of the Reason constants
	cause  error
}

func (e *RefusedError) Error() string {
	switch {
	case e.Addr.IsValid() && e.Host != e.Addr.String():
		return fmt.Sprintf("host %q is refused: %s is not public (%s)", e.Host, e.Addr, e.Reason)
	case e.cause != nil:
		return fmt.Sprintf("host %q is refused: %s: %v", e.Host, e.Reason, e.cause)
	default:
		return fmt.Sprintf("host %q is refused: %s", e.Host, e.Reason)
	}
}

// Unwrap returns the resolver's error, if there was one.
func (e *RefusedError) Unwrap() error { return e.cause }

// ReasonOf returns the reason of the refusal inside err, or "" when err is none.
func ReasonOf(err error) string {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

// CheckHost returns a *RefusedError when the host, a name or an IP address without port, does not resolve or when
// any of its addresses is not public. Another error is that of ctx. It is no promise about later: names change, so
// connections must go through DialContext.
func (g *Guard) CheckHost(ctx context.Context, host string) error {
	_, err := g.resolve(ctx, host)
	return err
}

// resolve returns the addresses of a host that may be called: all it has, or none at all.
func (g *Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addr, err := parseHost(host)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{addr}
	if !addr.IsValid() {
		if addrs, err = g.lookup(ctx, host); err != nil {
			return nil, err
		}
	}
	if g.AllowPrivate {
		return addrs, nil
	}
	for _, addr := range addrs {
		if reason, public := Classify(addr); !public {
			return nil, &RefusedError{Host: host, Addr: addr, Reason: reason}
		}
	}
	return addrs, nil
}

func (g *Guard) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var resolver Resolver = net.DefaultResolver
	if g.Resolver != nil {
		resolver = g.Resolver
	}
	addrs, err := resolver.LookupNetIP(limited, "ip", name)
	if ctx.Err() != nil { // the caller gave up, which says nothing about the name
		return nil, fmt.Errorf("resolve %q: %w", name, context.Cause(ctx))
	}
	if err != nil || len(addrs) == 0 {
		return nil, &RefusedError{Host: name, Reason: ReasonUnresolvable, cause: err}
	}
	unmapped := make([]netip.Addr, len(addrs))
	for i, addr := range addrs {
		// The standard library returns plain A records in mapped form too, and dials both forms as IPv4.
		unmapped[i] = addr.Unmap()
	}
	return unmapped, nil
}
