package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Ports are the ports that may be called, written as 443,1024-65535. nil, which cannot be written, means any.
type Ports []PortRange

// PortRange is the ports from First to Last, both included.
type PortRange struct{ First, Last uint16 }

// Set reads a list. One without a port is refused: who wants every port says so.
func (p *Ports) Set(s string) error {
	var list Ports
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		r, err := parseRange(first, last)
		if err != nil {
			return fmt.Errorf("%q is not a list of ports such as 443,1024-65535", s)
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return errors.New("names no port: write a list such as 443,1024-65535, or 1-65535 for every port")
	}
	*p = list
	return nil
}

func parseRange(first, last string) (PortRange, error) {
	a, err := strconv.ParseUint(first, 10, 16)
	if err != nil {
		return PortRange{}, err
	}
	b, err := strconv.ParseUint(last, 10, 16)
	if err != nil {
		return PortRange{}, err
	}
	if a < 1 || b < a {
		return PortRange{}, strconv.ErrRange
	}
	return PortRange{uint16(a), uint16(b)}, nil
}

// String writes the list.
func (p *Ports) String() string {
	parts := make([]string, len(*p))
	for i, r := range *p {
		parts[i] = strconv.Itoa(int(r.First))
		if r.Last != r.First {
			parts[i] += "-" + strconv.Itoa(int(r.Last))
		}
	}
	return strings.Join(parts, ",")
}

// Allow reports whether the port is in the list.
func (p Ports) Allow(port uint16) bool {
	return len(p) == 0 || slices.ContainsFunc(p, func(r PortRange) bool { return r.First <= port && port <= r.Last })
}

// CheckPort returns a *RefusedError if the port, in decimal digits, must not be called.
func (g *Guard) CheckPort(host, port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !g.Ports.Allow(uint16(n)) {
		return &RefusedError{Host: host, Reason: ReasonPort, cause: err}
	}
	return nil
}

// checkAddr returns a *RefusedError if the address of a host must not be called.
func (g *Guard) checkAddr(host string, addr netip.Addr) error {
	plain := addr.Unmap().WithZone("")
	if slices.ContainsFunc(g.Deny, func(n netip.Prefix) bool { return n.Contains(plain) }) {
		return &RefusedError{Host: host, Addr: addr, Reason: ReasonDenied}
	}
	if g.AllowPrivate {
		return nil
	}
	if reason, public := Classify(addr); !public {
		return &RefusedError{Host: host, Addr: addr, Reason: reason}
	}
	return nil
}
