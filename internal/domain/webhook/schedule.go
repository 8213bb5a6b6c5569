package webhook

import "time"

// jitterShare is the most that jitter adds to a delay: enough to spread deliveries that failed together.
const jitterShare = 0.10

// Schedule says when a failed attempt is repeated.
type Schedule struct {
	Delays []time.Duration // after the first, second, … failed attempt
}

// DefaultSchedule returns the schedule of the contract: four attempts, 1, 3 and 7 minutes apart.
func DefaultSchedule() Schedule {
	return Schedule{Delays: []time.Duration{1 * time.Minute, 3 * time.Minute, 7 * time.Minute}}
}

// Attempts returns the number of attempts before a delivery has failed.
func (s Schedule) Attempts() int { return len(s.Delays) + 1 }

// Next returns how long to wait after the failed attempt of that number, counted from 1, and whether there is another
// one at all. The delay is made longer by up to a tenth, in proportion to jitter, a random number in [0,1).
func (s Schedule) Next(attempt int, jitter float64) (time.Duration, bool) {
	if attempt < 1 || attempt > len(s.Delays) {
		return 0, false
	}
	delay := s.Delays[attempt-1]
	return delay + time.Duration(float64(delay)*jitterShare*jitter), true
}
