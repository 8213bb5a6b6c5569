package ratelimit

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// DefaultFailureLimit is the number of failed authentications that an address has in a window.
	DefaultFailureLimit = 300

	// maxFailureOrigins bounds the memory: with more origins than that, the longest known are forgotten first.
	maxFailureOrigins = 1 << 16

	// originBits6 is the part of an IPv6 address that a site cannot choose: everyone has a whole /64 to send from.
	originBits6 = 64
)

// Failures counts failed authentications by address, so that guessing keys meets a wall that valid keys never see: the
// caller asks Blocked only after an authentication has failed.
type Failures struct {
	limit int
	now   func() time.Time
	epoch time.Time
	max   int

	mu      sync.Mutex
	windows windows[netip.Prefix]
}

// NewFailures returns a counter that blocks an address after limit failures in a window; a limit below 1 blocks nobody.
func NewFailures(limit int, now func() time.Time) *Failures {
	return &Failures{limit: limit, now: now, epoch: now(), max: maxFailureOrigins}
}

// Blocked says whether the address has used up its failures, and for how long that holds. The address is an IP address
// with or without a port; addresses of one IPv6 /64 count together, and so do all texts that are not an IP address.
func (f *Failures) Blocked(addr string) (retryAfter time.Duration, blocked bool) {
	if f.limit < 1 {
		return 0, false
	}
	from := origin(addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now().Sub(f.epoch)
	w := f.windows.running(from, now)
	if w == nil || w.count < f.limit {
		return 0, false
	}
	return w.left(now), true
}

// Failed counts a failed authentication. Failures beyond the limit do not make the block longer.
func (f *Failures) Failed(addr string) {
	if f.limit < 1 {
		return
	}
	from := origin(addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now().Sub(f.epoch)
	f.windows.expire(now)
	w := f.windows.running(from, now)
	if w == nil {
		if f.windows.byKey[from] == nil && len(f.windows.byKey) >= f.max {
			f.windows.removeOldest()
		}
		w = f.windows.begin(from, now)
	}
	if w.count < f.limit {
		w.count++
	}
}

// origin returns what an address is counted as: itself, its /64, or the zero prefix for what is not an address.
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
