package signin

import (
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/ratelimit"
)

// How many failed attempts are allowed in a window. One address cannot lock a person out who signs in from another: it
// reaches the limit of the pair first. Links to choose a new password are limited more strictly: nobody's mailbox is
// to be filled by others.
var (
	signInLimits = ratelimit.AttemptLimits{Pair: 10, Origin: 100, Name: 100}
	resetLimits  = ratelimit.AttemptLimits{Pair: 5, Origin: 30, Name: 10}
)

// TooManyLogins is the refusal of an attempt before it is looked at; it tells when to try again.
var TooManyLogins = fault.New(fault.RateLimited, fault.CodeRateLimited,
	"Too many attempts to sign in. Wait a while and try again.")

// Throttle slows down guessing, by address, by user, and by both together.
type Throttle struct{ *ratelimit.Attempts }

// NewThrottle returns a throttle of sign-ins that has seen nothing.
func NewThrottle(now func() time.Time) Throttle { return newThrottle(now, signInLimits) }

func newThrottle(now func() time.Time, limits ratelimit.AttemptLimits) Throttle {
	return Throttle{ratelimit.NewAttempts(limits, now)}
}

// Begin counts an attempt to sign in as a user, by whatever name the visitor gave, from an address. It returns
// TooManyLogins when one of the limits is reached, for names that exist and names that do not alike.
func (t Throttle) Begin(address, user string) error {
	if wait := t.Attempts.Begin(address, user); wait > 0 {
		return TooManyLogins.After(wait)
	}
	return nil
}
