// Package fakeclock is the clock that tests inject: time stands still until the test moves it.
package fakeclock

import (
	"sync"
	"time"
)

// Clock is a clock that moves only when told. Its Now method value is a `func() time.Time`, the form in which the
// program takes its clock. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// New returns a clock that stands at start.
func New(start time.Time) *Clock {
	return &Clock{now: start}
}

// Now returns the time at which the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, backwards if d is negative, and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Set moves the clock to t.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}
