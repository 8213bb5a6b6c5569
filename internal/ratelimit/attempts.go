package ratelimit

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	// AttemptWindow is the length of the windows of Attempts.
	AttemptWindow = 15 * time.Minute

	// maxAttemptWindows bounds the memory: beyond it, the oldest windows are dropped first.
	maxAttemptWindows = 1 << 16
)

// AttemptLimits are how many attempts in a window one address may make for one name, one address for all names, and all
// addresses for one name.
type AttemptLimits struct{ Pair, Origin, Name int }

// Attempts slows down guessing of passwords and codes, by address, by name, and by both together. An attempt counts
// when it begins, so that many at once cannot slip through, and is given back when it succeeds.
type Attempts struct {
	limits AttemptLimits
	now    func() time.Time
	epoch  time.Time

	mu      sync.Mutex
	windows windows[attemptKey]
}

// attemptKey is what an attempt counts for: an address and a name, or one of them.
type attemptKey struct {
	origin netip.Prefix
	name   string
	any    anyOf
}

type anyOf byte

const (
	anyName   anyOf = 'n'
	anyOrigin anyOf = 'o'
)

// NewAttempts returns a counter that has seen nothing.
func NewAttempts(limits AttemptLimits, now func() time.Time) *Attempts {
	return &Attempts{limits: limits, now: now, epoch: now(), windows: windows[attemptKey]{length: AttemptWindow}}
}

// Begin counts an attempt for a name from an address, or returns how long to wait when one of the limits is reached.
func (a *Attempts) Begin(address, name string) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now().Sub(a.epoch)
	a.windows.expire(now)
	keys := attemptKeys(address, name)
	for i, limit := range []int{a.limits.Pair, a.limits.Origin, a.limits.Name} {
		if w := a.windows.running(keys[i], now); w != nil && w.count >= limit {
			wait = max(wait, a.windows.left(w, now))
		}
	}
	if wait > 0 {
		return wait
	}
	for _, key := range keys {
		w := a.windows.running(key, now)
		if w == nil {
			if a.windows.byKey[key] == nil && len(a.windows.byKey) >= maxAttemptWindows {
				a.windows.remove(a.windows.oldest)
			}
			w = a.windows.begin(key, now)
		}
		w.count++
	}
	return 0
}

// Succeeded gives an attempt back and forgets the failures of this name at this address.
func (a *Attempts) Succeeded(address, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, key := range attemptKeys(address, name) {
		w := a.windows.byKey[key]
		if w == nil {
			continue
		}
		if w.count--; w.count <= 0 || i == 0 {
			a.windows.remove(w)
		}
	}
}

// attemptKeys returns what an attempt counts for, the pair first.
func attemptKeys(address, name string) [3]attemptKey {
	from, name := origin(address), strings.ToLower(name)
	return [3]attemptKey{{origin: from, name: name}, {origin: from, any: anyName}, {name: name, any: anyOrigin}}
}
