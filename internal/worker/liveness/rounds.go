package liveness

import (
	"sync"
	"time"
)

// Rounds notes how the rounds of a worker end that goes on after one that fails. The zero value is ready for use.
type Rounds struct {
	mu       sync.Mutex
	failures Failures
}

// Failures are the rounds that have failed.
type Failures struct {
	Count int
	Last  time.Time // the end of the last of them
	Err   error     // of the last round; nil: it did not fail
}

// Ended notes the end of a round; nil: it has not failed.
func (r *Rounds) Ended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures.Err = err; err != nil {
		r.failures.Count++
		r.failures.Last = time.Now()
	}
}

// Failures tells which rounds have failed so far.
func (r *Rounds) Failures() Failures {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures
}
