// Package netguard prevents server-side request forgery (SSRF): connections to hosts named by customers may only
// reach the public internet, not this machine, its network or cloud metadata services. A host is checked when it is
// registered, and again on the dialled address of every connection, because its owner can change what the name
// resolves to.
package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

const lookupTimeout = 3 * time.Second

// Resolver looks up the addresses of a name. *net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guard decides which hosts may be called. The zero value allows only public addresses.
type Guard struct {
	// AllowPrivate allows all addresses, including loopback. For development.
	AllowPrivate bool
	// Deny are networks that are never called, whatever else is allowed: public ones of the operator's own, say.
	Deny []netip.Prefix
	// Ports are the ports that may be called; nil means any.
	Ports Ports
	// Resolver looks up names; nil is the system's resolver.
	Resolver Resolver
}

// RefusedError says that a host must not be called. Its text may contain internal addresses and is for logs;
// callers are shown the Reason.
type RefusedError struct {
	Host   string     // as given
	Addr   netip.Addr // the refused address, if any
	Reason string     // one of the Reason constants
	cause  error
}

func (e *RefusedError) Error() string {
	switch {
	case e.Addr.IsValid() && e.Host != e.Addr.String():
		return fmt.Sprintf("host %q is refused: %s must not be called (%s)", e.Host, e.Addr, e.Reason)
	case e.cause != nil:
		return fmt.Sprintf("host %q is refused: %s: %v", e.Host, e.Reason, e.cause)
	default:
		return fmt.Sprintf("host %q is refused: %s", e.Host, e.Reason)
	}
}

// Unwrap returns the resolver's error, if any.
func (e *RefusedError) Unwrap() error { return e.cause }

// ReasonOf returns the reason of a RefusedError in err, or "".
func ReasonOf(err error) string {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Reason
	}
	return ""
}

// CheckHost returns a *RefusedError if the host, a name or an IP address without port, does not resolve or has an
// address that is not public. Any other error is that of ctx. Names can change later, so connections must still go
// through DialContext.
func (g *Guard) CheckHost(ctx context.Context, host string) error {
	_, err := g.resolve(ctx, host)
	return err
}

// resolve returns the addresses of a host if all of them may be called.
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
	for _, addr := range addrs {
		if err := g.checkAddr(host, addr); err != nil {
			return nil, err
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
	if ctx.Err() != nil { // canceled: says nothing about the name
		return nil, fmt.Errorf("resolve %q: %w", name, context.Cause(ctx))
	}
	if err != nil || len(addrs) == 0 {
		return nil, &RefusedError{Host: name, Reason: ReasonUnresolvable, cause: err}
	}
	unmapped := make([]netip.Addr, len(addrs))
	for i, addr := range addrs {
		// The standard library may return A records as IPv4-mapped IPv6, and dials both forms as IPv4.
		unmapped[i] = addr.Unmap()
	}
	return unmapped, nil
}

const (
	maxName  = 253 // characters of a name without its trailing dot
	maxLabel = 63
)

// parseHost returns the IP address that a host spells, or the zero address for a name. It refuses invalid hosts,
// and everything that some systems read as an IPv4 address although it is not four decimal numbers (2130706433,
// 0177.0.0.1, 0x7f.1, 127.1), because the dialled address would depend on the resolver.
func parseHost(host string) (netip.Addr, error) {
	refuse := func(reason string) (netip.Addr, error) {
		return netip.Addr{}, &RefusedError{Host: host, Reason: reason}
	}
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return refuse(ReasonInvalidHost)
		}
		return addr, nil
	}
	name := strings.TrimSuffix(host, ".")
	if !isName(name) {
		return refuse(ReasonInvalidHost)
	}
	if !endsInNumber(name) {
		return netip.Addr{}, nil
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return refuse(ReasonNumericHost)
	}
	if name != host { // an address with a trailing dot: some systems resolve it, others dial it
		if reason, public := Classify(addr); !public {
			return refuse(reason)
		}
		return refuse(ReasonNumericHost)
	}
	return addr, nil
}

// isName reports whether s can be a name in the DNS or a hosts file: labels of letters, digits, hyphens and
// underscores. Internationalised names must be in ASCII form (xn--…), because other forms can be normalised to
// digits.
func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabel || strings.Trim(label, nameCharacters) != "" {
			return false
		}
	}
	return true
}

const (
	digits         = "0123456789"
	hexDigits      = digits + "abcdefABCDEF"
	nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits + "-_"
)

// endsInNumber reports whether the last label is a decimal or hexadecimal number, which no top-level domain is.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if len(last) >= 2 && last[0] == '0' && (last[1] == 'x' || last[1] == 'X') {
		return strings.Trim(last[2:], hexDigits) == ""
	}
	return strings.Trim(last, digits) == ""
}
