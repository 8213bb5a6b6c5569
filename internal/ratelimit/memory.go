package ratelimit

import (
	"context"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

const memoryShards = 64

// Memory is the Limiter of a single node. Expired windows are removed by later calls, a few at a time.
type Memory struct {
	now    func() time.Time
	epoch  time.Time
	seed   maphash.Seed
	shards [memoryShards]memoryShard
}

type memoryShard struct {
	mu      sync.Mutex
	windows windows[Quota]
	_       [64]byte // against false sharing
}

// NewMemory returns a limiter with the clock now.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, epoch: now(), seed: maphash.MakeSeed()}
}

// Take implements Limiter. It never fails.
func (m *Memory) Take(_ context.Context, key, category string, limit int) (Decision, error) {
	if limit < 1 {
		return Decision{RetryAfter: Window}, nil
	}
	counted := Quota{key, category}
	shard := m.shard(key)

	shard.mu.Lock()
	defer shard.mu.Unlock()
	now := m.now().Sub(m.epoch) // under the lock, so that the windows of a shard are sorted by start
	shard.windows.expire(now)
	w := shard.windows.running(counted, now)
	if w == nil {
		w = shard.windows.begin(counted, now)
	}
	if w.count >= limit {
		return Decision{Limit: limit, RetryAfter: shard.windows.left(w, now)}, nil
	}
	w.count++
	return Decision{Allowed: true, Limit: limit, Remaining: limit - w.count}, nil
}

// follow sets a window to what a counter that all nodes share has said: so many requests, and so long until its end.
// When that counter is away, this one goes on from there.
func (m *Memory) follow(q Quota, count int, left time.Duration) {
	shard := m.shard(q.Key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	now := m.now().Sub(m.epoch)
	shard.windows.expire(now)
	start := now - (Window - left)
	w := shard.windows.running(q, now)
	if w == nil {
		w = shard.windows.begin(q, now)
	}
	// Answers may overtake each other: within a window the count only grows.
	if (w.start - start).Abs() > followSlack {
		w.count = 0
	}
	w.start, w.count = min(start, now), max(w.count, count)
}

// followSlack is by how much two answers may disagree about the start of the same window.
const followSlack = time.Second

func (m *Memory) shard(key string) *memoryShard {
	return &m.shards[maphash.String(m.seed, key)%memoryShards]
}

// Uses implements Limiter. It never fails.
func (m *Memory) Uses(_ context.Context, quotas []Quota) ([]Use, error) {
	uses := make([]Use, len(quotas))
	for i, q := range quotas {
		uses[i] = m.shard(q.Key).use(q, m)
	}
	return uses, nil
}

func (s *memoryShard) use(q Quota, m *Memory) Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := m.now().Sub(m.epoch)
	w := s.windows.running(q, now)
	if w == nil {
		return Use{}
	}
	return Use{Count: w.count, Left: s.windows.left(w, now)}
}

// expirePerCall bounds the expired windows that one call removes. It is more than the one window that a call can
// add, so that expired windows do not pile up, and small, so that no single request pays for a burst.
const expirePerCall = 4

// windows stores the windows of many keys. All have the same length, so that the list is sorted by start and by
// end, oldest first. It is not safe for concurrent use.
type windows[K comparable] struct {
	byKey          map[K]*window[K]
	oldest, newest *window[K]
}

type window[K comparable] struct {
	key          K
	start        time.Duration // since the owner's epoch
	count        int
	older, newer *window[K]
}

// running returns the current window of the key, or nil. A window that starts after now belongs to a clock that was
// set back, and is over.
func (w *windows[K]) running(key K, now time.Duration) *window[K] {
	found := w.byKey[key]
	if found == nil || w.over(found, now) {
		return nil
	}
	return found
}

// begin starts a window for the key with a count of zero, reusing its previous one.
func (w *windows[K]) begin(key K, now time.Duration) *window[K] {
	started := w.byKey[key]
	if started == nil {
		if w.byKey == nil {
			w.byKey = make(map[K]*window[K])
		}
		started = &window[K]{key: key}
		w.byKey[key] = started
	} else {
		w.unlink(started)
	}
	started.start, started.count = now, 0
	started.older, started.newer = w.newest, nil
	if w.newest == nil {
		w.oldest = started
	} else {
		w.newest.newer = started
	}
	w.newest = started
	return started
}

// expire removes some expired windows.
func (w *windows[K]) expire(now time.Duration) {
	for range expirePerCall {
		if w.oldest == nil || !w.over(w.oldest, now) {
			return
		}
		w.remove(w.oldest)
	}
}

func (w *windows[K]) remove(gone *window[K]) {
	w.unlink(gone)
	delete(w.byKey, gone.key)
}

func (w *windows[K]) unlink(gone *window[K]) {
	if gone.older == nil {
		w.oldest = gone.newer
	} else {
		gone.older.newer = gone.newer
	}
	if gone.newer == nil {
		w.newest = gone.older
	} else {
		gone.newer.older = gone.older
	}
	gone.older, gone.newer = nil, nil
}

func (w *windows[K]) over(x *window[K], now time.Duration) bool {
	return now < x.start || w.left(x, now) <= 0
}

// left is the time until a running window ends.
func (w *windows[K]) left(x *window[K], now time.Duration) time.Duration {
	return Window - (now - x.start)
}

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
