package ratelimit

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

const (
	// DefaultFailureLimit is the number of failed authentications per address and window.
	DefaultFailureLimit = 300

	// maxFailureOrigins bounds the memory: beyond it, the oldest origins are forgotten first.
	maxFailureOrigins = 1 << 16

	// originBits6 is the prefix length that identifies an IPv6 site: anybody can send from a complete /64.
	originBits6 = 64
)

// FailureCounter counts failed authentications by address to slow down guessing of keys. Valid keys are not its
// business, so that they are never blocked.
type FailureCounter interface {
	// Fail counts a failed authentication. From an address that has used up its failures it is not counted, does not
	// extend the block, and is told how long the block lasts.
	Fail(ctx context.Context, addr string) (retryAfter time.Duration, blocked bool)
}

// Failures is the FailureCounter of a single node.
type Failures struct {
	limit int
	now   func() time.Time
	epoch time.Time
	max   int

	mu      sync.Mutex
	windows windows[netip.Prefix]
}

// NewFailures returns a counter that blocks an address after limit failures per window; a limit below 1 disables
// it.
func NewFailures(limit int, now func() time.Time) *Failures {
	return &Failures{limit: limit, now: now, epoch: now(), max: maxFailureOrigins}
}

// Fail implements FailureCounter. The address is an IP address with or without port. Addresses of one IPv6 /64 are
// counted together, and so are all invalid addresses.
func (f *Failures) Fail(_ context.Context, addr string) (retryAfter time.Duration, blocked bool) {
	if f.limit < 1 {
		return 0, false
	}
	from := origin(addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now().Sub(f.epoch)
	f.windows.expire(now)
	w := f.windows.running(from, now)
	if w == nil {
		if f.windows.byKey[from] == nil && len(f.windows.byKey) >= f.max {
			f.windows.remove(f.windows.oldest)
		}
		w = f.windows.begin(from, now)
	}
	if w.count >= f.limit {
		return f.windows.left(w, now), true
	}
	w.count++
	return 0, false
}

// OriginOf names what an address is counted under: itself, its /64, or nothing if it is invalid.
func OriginOf(addr string) string {
	if p := origin(addr); p.IsValid() {
		return p.String()
	}
	return ""
}

// origin returns the prefix that an address is counted under: itself, its /64, or the zero prefix if it is invalid.
func origin(addr string) netip.Prefix {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		withPort, err := netip.ParseAddrPort(addr)
		if err != nil {
			return netip.Prefix{}
		}
		ip = withPort.Addr()
	}
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = originBits6
	}
	return netip.PrefixFrom(ip, bits).Masked()
}
