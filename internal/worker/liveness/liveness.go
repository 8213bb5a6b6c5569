// Package liveness tells whether a worker still gets its work done. A worker that waits for something that never comes
// returns no error: only its silence shows.
package liveness

import (
	"sync/atomic"
	"time"
)

// Limit is how long a worker that looks for work every few seconds may go without success.
const Limit = 30 * time.Second

// Mark is when a worker last got something done, by the clock that nobody sets. The zero mark is of no use: see New.
type Mark struct {
	start time.Time
	last  atomic.Int64 // nanoseconds since start
}

// New returns a mark of this moment.
func New() *Mark { return &Mark{start: time.Now()} }

// Set marks this moment. A nil mark is not kept.
func (m *Mark) Set() {
	if m != nil {
		m.last.Store(int64(time.Since(m.start)))
	}
}

// Age returns the time since the mark was set.
func (m *Mark) Age() time.Duration {
	if m == nil {
		return 0
	}
	return time.Since(m.start) - time.Duration(m.last.Load())
}
