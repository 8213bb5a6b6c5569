package signin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/store"
)

// limits are how many failed attempts are allowed in a window: of one address for one name, of one address for all
// names, and of all addresses for one name. One address cannot lock a person out who signs in from another: it reaches
// the limit of the pair first. A browser that the person has signed in with before has a limit of its own and none of
// these, so that strangers cannot lock it out, however many they are. person is how many mails somebody who is signed
// in may have sent to addresses of their choice.
type limits struct{ pair, origin, name, device, person int }

// Links to choose a new password are limited more strictly: nobody's mailbox is to be filled by others. So are
// those that owners have mailed, but they may invite a whole team.
var (
	signInLimits = limits{pair: 10, origin: 100, name: 100, device: 10}
	resetLimits  = limits{pair: 5, origin: 30, name: 10, person: 5}
	inviteLimits = limits{pair: 5, origin: 100, name: 10, person: 50}
)

// throttleWindow is the length of a window, unless it is said to be another; none is longer than longestWindow.
const (
	throttleWindow = 15 * time.Minute
	longestWindow  = 24 * time.Hour
)

// TooManyLogins is the refusal of an attempt before it is looked at; it tells when to try again.
var TooManyLogins = fault.New(fault.RateLimited, fault.CodeRateLimited,
	"Too many attempts to sign in. Wait a while and try again.")

// throttle slows down guessing. The windows are in Redis, or in the database where there is none or it is away: a
// restart of a node does not forget them, and all nodes count together. An attempt counts when it begins, so that many
// at once cannot slip through, and is given back when it succeeds.
type throttle struct {
	*Config
	audience access.Audience
	purpose  string
	limits   limits
}

// attempt is one attempt that was counted.
type attempt struct {
	*throttle
	keys   []limited // the first one is forgotten by a success
	shared bool      // counted outside the database
}

// limited is what an attempt counts for, and how many are allowed in a window.
type limited struct {
	key    string
	limit  int
	window time.Duration
}

// begin counts an attempt in the name of somebody, by whatever name the visitor gave, for names that exist and names
// that do not alike. userID is who it is, if that is known. It returns TooManyLogins when one of the limits is reached.
func (t *throttle) begin(ctx context.Context, from access.Origin, name, userID string) (*attempt, error) {
	known, err := t.knows(ctx, from, userID)
	if err != nil {
		return nil, err
	}
	if known {
		return t.count(ctx, t.ofDevice(from, name))
	}
	return t.count(ctx, t.ofStranger(from, name)...)
}

// knows reports whether somebody has signed in with a browser before.
func (t *throttle) knows(ctx context.Context, from access.Origin, userID string) (bool, error) {
	if userID == "" || from.Device == "" {
		return false, nil
	}
	return t.Store.KnowsDevice(ctx, t.audience, userID, from.Device)
}

// beginMail counts a mail that a person has sent to an address of their choice: as that of any stranger, however well
// their browser is known, and as theirs. It returns TooManyLogins when one of the limits is reached.
func (t *throttle) beginMail(ctx context.Context, from access.Origin, address, userID string) error {
	person := limited{t.key("person", userID), t.limits.person, throttleWindow}
	_, err := t.count(ctx, append(t.ofStranger(from, address), person)...)
	return err
}

// ofDevice is what an attempt from a known browser counts for.
func (t *throttle) ofDevice(from access.Origin, name string) limited {
	return limited{t.key("device", from.Device, strings.ToLower(name)), t.limits.device, throttleWindow}
}

// ofStranger is what an attempt from a browser counts for that is not known.
func (t *throttle) ofStranger(from access.Origin, name string) []limited {
	name = strings.ToLower(name)
	origin := ratelimit.OriginOf(from.IP)
	return []limited{
		{t.key("pair", origin, name), t.limits.pair, throttleWindow},
		{t.key("origin", origin), t.limits.origin, throttleWindow},
		{t.key("name", name), t.limits.name, throttleWindow},
	}
}

// count counts an attempt.
func (t *throttle) count(ctx context.Context, keys ...limited) (*attempt, error) {
	a := &attempt{throttle: t, keys: keys}
	if t.Shared != nil {
		if err := a.countShared(ctx); !errors.Is(err, ratelimit.ErrAway) {
			return a, err
		}
	}
	return a, a.countStored(ctx)
}

// within counts something, and reports whether that was within its limit.
func (t *throttle) within(ctx context.Context, what limited) (bool, error) {
	_, err := t.count(ctx, what)
	if errors.Is(err, TooManyLogins) {
		return false, nil
	}
	return err == nil, err
}

// countShared counts the attempt outside the database.
func (a *attempt) countShared(ctx context.Context) error {
	windows := make([]ratelimit.Counter, len(a.keys))
	for i, k := range a.keys {
		windows[i] = ratelimit.Counter{Key: sharedKey(k), Limit: k.limit, Length: k.window}
	}
	wait, full, err := a.Shared.Count(ctx, windows...)
	if full {
		return TooManyLogins.After(max(time.Second, wait))
	}
	a.shared = err == nil
	return err
}

func sharedKey(k limited) string { return "sign-in:" + k.key }

// countStored counts the attempt in the database.
func (a *attempt) countStored(ctx context.Context) error {
	now := a.now()
	for _, k := range a.keys { // without a lock first: who is over the limit cannot make the database work
		seen, err := a.Store.SignInAttempts(ctx, k.key, now, k.window)
		if err != nil {
			return err
		}
		if seen.Count >= k.limit {
			return tooMany(seen, now)
		}
	}
	return a.Store.Update(ctx, func(tx *store.Tx) error {
		for _, k := range sorted(a.keys) {
			seen, err := tx.CountAttempt(k.key, now, k.window)
			if err != nil {
				return err
			}
			if seen.Count > k.limit {
				return tooMany(seen, now)
			}
		}
		return nil
	})
}

func tooMany(seen store.SignInWindow, now time.Time) error {
	return TooManyLogins.After(max(time.Second, seen.Ends.Sub(now)))
}

// succeeded gives the attempt back and forgets the failures of this name at this address.
func (a *attempt) succeeded(ctx context.Context) error {
	if a.shared {
		keys := make([]string, len(a.keys))
		for i, k := range a.keys {
			keys[i] = sharedKey(k)
		}
		if err := a.Shared.GiveBack(ctx, keys...); err != nil { // the windows end by themselves: nobody is refused for this
			a.Log.WarnContext(ctx, "an attempt to sign in that succeeded stays counted", "error", err)
		}
		return nil
	}
	return a.Store.Update(ctx, func(tx *store.Tx) error {
		for _, k := range sorted(a.keys) {
			give := tx.GiveBackAttempt
			if k == a.keys[0] {
				give = tx.ForgetAttempts
			}
			if err := give(k.key); err != nil {
				return err
			}
		}
		return nil
	})
}

// sorted brings keys into one order, so that no transaction waits for another that waits for it.
func sorted(keys []limited) []limited {
	return slices.SortedFunc(slices.Values(keys), func(a, b limited) int { return strings.Compare(a.key, b.key) })
}

// key is under what an attempt is counted. It is a keyed hash: names are what visitors have typed, a password in the
// wrong field, say.
func (t *throttle) key(parts ...string) string {
	text := string(t.audience) + "\x00" + t.purpose + "\x00"
	for _, part := range parts {
		text += part + "\x00"
	}
	return t.keyedHash("sign-in attempts", text)
}

// DeleteOldSignInAttempts removes up to limit windows of attempts that are over, and returns how many. One that ends
// farther ahead than any does is that of a clock which was set back.
func (s *SessionStore) DeleteOldSignInAttempts(ctx context.Context, limit int) (int, error) {
	now := s.config.now()
	n, err := s.config.Store.DeleteAged(ctx, store.OldSignInAttempts, now, limit)
	if err != nil || n == limit {
		return n, err
	}
	ahead, err := s.config.Store.DeleteAged(ctx, store.LaterAttempts, now.Add(longestWindow+throttleWindow), limit-n)
	return n + ahead, err
}

// DeleteOldDevices forgets up to limit browsers that nobody has signed in with for a year, and returns how many.
func (s *SessionStore) DeleteOldDevices(ctx context.Context, limit int) (int, error) {
	return s.config.Store.DeleteAged(ctx, store.OldDevices, s.config.now().Add(-access.DeviceLife), limit)
}
