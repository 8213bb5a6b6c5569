// Package liveness tells whether a worker still gets its work done. A worker that waits for something that never comes
// returns no error: only its silence shows.
package liveness

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// Limit is how long a worker that looks for work every few seconds may go without success.
const Limit = 30 * time.Second

// NoLimit is the limit of a worker without which a node is ready.
const NoLimit = time.Duration(math.MaxInt64)

// Mark is when a worker last got something done, by the monotonic clock. The zero mark is of no use: see New.
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

// Poll calls f in intervals, and when something is sent to wake, until ctx ends. It goes on while f fails, and calls
// failed with the first of the errors in a row.
func Poll(
	ctx context.Context, every time.Duration, wake <-chan struct{}, f func(context.Context) error, failed func(error),
) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
		err := f(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			failed(err)
		}
		failing = err != nil
	}
}
