package letter

import "time"

// How long a mail is tried. A link to choose a new password lives no longer than a day, so there is no use in more.
const (
	Life       = 24 * time.Hour
	firstDelay = time.Minute
	longDelay  = 30 * time.Minute
)

// NextAttempt returns when a mail is tried again that could not be sent for now, or false when it is given up.
// attempts are those made so far; jitter in [0,1) keeps what failed together from being tried together.
func NextAttempt(attempts int, created, now time.Time, jitter float64) (time.Time, bool) {
	delay := longDelay
	if doublings := attempts - 1; doublings < 5 {
		delay = firstDelay << max(0, doublings)
	}
	next := now.Add(delay + time.Duration(jitter*float64(delay)/10))
	return next, next.Before(created.Add(Life))
}
