package signin

import (
	"container/list"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// How many failed sign-ins are allowed in a window. One address cannot lock a user out who signs in from another: what
// it meets first is the limit of the pair.
var signInLimits = limits{pair: 10, origin: 100, user: 100}

// limits are how many attempts one address may make for one user, one address for all users, and all addresses for
// one user.
type limits struct{ pair, origin, user int }

const (
	loginWindow = 15 * time.Minute

	// maxLoginWindows bounds the memory: with more than that, the oldest windows are forgotten first.
	maxLoginWindows = 1 << 16
)

// Throttle slows down guessing of passwords and codes, by address, by user, and by both together. An attempt counts
// when it begins, so that many at once cannot slip through, and is given back when it succeeds.
type Throttle struct {
	now    func() time.Time
	limits limits

	mu      sync.Mutex
	windows map[string]*list.Element // of loginCount
	oldest  *list.List
}

type loginCount struct {
	key   string
	began time.Time
	count int
}

// NewThrottle returns a throttle that has seen nothing.
func NewThrottle(now func() time.Time) *Throttle { return newThrottle(now, signInLimits) }

func newThrottle(now func() time.Time, limits limits) *Throttle {
	return &Throttle{now: now, limits: limits, windows: make(map[string]*list.Element), oldest: list.New()}
}

// TooManyLogins is the refusal of an attempt before it is looked at; it tells when to try again.
var TooManyLogins = fault.New(fault.RateLimited, fault.CodeRateLimited, "Too many attempts to sign in. Wait a while and try again.")

// Begin counts an attempt to sign in as a user, by whatever name the visitor gave, from an address. It returns
// TooManyLogins when one of the limits is reached, for names that exist and names that do not alike.
func (t *Throttle) Begin(address, user string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.expire(now)
	limits := t.keys(address, user)
	var wait time.Duration
	for _, l := range limits {
		if e, ok := t.windows[l.key]; ok && e.Value.(*loginCount).count >= l.limit {
			wait = max(wait, e.Value.(*loginCount).began.Add(loginWindow).Sub(now))
		}
	}
	if wait > 0 {
		return TooManyLogins.After(wait)
	}
	for _, l := range limits {
		t.count(l.key, now)
	}
	return nil
}

// Succeeded gives an attempt back and forgets the failures of this user at this address.
func (t *Throttle) Succeeded(address, user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limits := t.keys(address, user)
	for _, l := range limits {
		e, ok := t.windows[l.key]
		if !ok {
			continue
		}
		c := e.Value.(*loginCount)
		if c.count--; c.count <= 0 || l.key == limits[0].key {
			t.remove(e)
		}
	}
}

type loginLimit struct {
	key   string
	limit int
}

// keys returns what an attempt counts for, the pair first.
func (t *Throttle) keys(address, user string) [3]loginLimit {
	from, user := loginOrigin(address), strings.ToLower(user)
	return [3]loginLimit{{"pair " + from + " " + user, t.limits.pair}, {"from " + from, t.limits.origin}, {"user " + user, t.limits.user}}
}

// loginOrigin is the part of an address that its owner cannot choose freely: everyone on IPv6 has a whole /64.
func loginOrigin(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "?"
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

func (t *Throttle) count(key string, now time.Time) {
	if e, ok := t.windows[key]; ok {
		e.Value.(*loginCount).count++
		return
	}
	if len(t.windows) >= maxLoginWindows {
		t.remove(t.oldest.Front())
	}
	t.windows[key] = t.oldest.PushBack(&loginCount{key: key, began: now, count: 1})
}

func (t *Throttle) expire(now time.Time) {
	for e := t.oldest.Front(); e != nil && now.Sub(e.Value.(*loginCount).began) >= loginWindow; e = t.oldest.Front() {
		t.remove(e)
	}
}

func (t *Throttle) remove(e *list.Element) {
	delete(t.windows, e.Value.(*loginCount).key)
	t.oldest.Remove(e)
}
