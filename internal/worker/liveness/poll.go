package liveness

import (
	"context"
	"time"
)

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
