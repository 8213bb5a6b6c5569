package letter

import "time"

// Retry schedule of mails. A password reset link is valid for at most a day, so retrying longer is useless.
const (
	Life       = 24 * time.Hour
	firstDelay = time.Minute
	longDelay  = 30 * time.Minute

	// Farthest is more than any delay: what is due after it was put off by a clock that was wrong.
	Farthest = time.Hour
)

// NextAttempt returns when to retry a mail after a temporary failure, or false to give up. attempts is the number
// made so far; jitter in [0,1) spreads mails that failed together.
func NextAttempt(attempts int, created, now time.Time, jitter float64) (time.Time, bool) {
	delay := longDelay
	if doublings := attempts - 1; doublings < 5 {
		delay = firstDelay << max(0, doublings)
	}
	next := now.Add(delay + time.Duration(jitter*float64(delay)/10))
	return next, next.Before(created.Add(Life))
}
