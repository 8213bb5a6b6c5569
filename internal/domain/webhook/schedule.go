package webhook

import "time"

// MaxPause is how long a delivery waits at most for an endpoint that is paused.
const MaxPause = 7 * 24 * time.Hour

// jitterShare is the maximum jitter, as a share of the delay. It spreads deliveries that failed together.
const jitterShare = 0.10

// Schedule defines when a failed attempt is retried.
type Schedule struct {
	Delays []time.Duration // after the first, second, … failed attempt
}

// DefaultSchedule returns the documented schedule: four attempts, 1, 3 and 7 minutes apart.
func DefaultSchedule() Schedule {
	return Schedule{Delays: []time.Duration{1 * time.Minute, 3 * time.Minute, 7 * time.Minute}}
}

// Attempts returns the maximum number of attempts.
func (s Schedule) Attempts() int { return len(s.Delays) + 1 }

// Longest returns the longest delay that Next can return.
func (s Schedule) Longest() time.Duration {
	var longest time.Duration
	for _, delay := range s.Delays {
		longest = max(longest, delay+time.Duration(float64(delay)*jitterShare))
	}
	return longest
}

// Next returns the delay after the failed attempt with the given number, counted from 1, and whether there is a
// next attempt. jitter, a random number in [0,1), adds up to a tenth.
func (s Schedule) Next(attempt int, jitter float64) (time.Duration, bool) {
	if attempt < 1 || attempt > len(s.Delays) {
		return 0, false
	}
	delay := s.Delays[attempt-1]
	return delay + time.Duration(float64(delay)*jitterShare*jitter), true
}

// FailingAfter is how long an endpoint acknowledges nothing, after an attempt failed, before its owners are told;
// FailingWithin is how old that failure may be: what has long been so is no news.
const (
	FailingAfter  = time.Hour
	FailingWithin = 24 * time.Hour
)
