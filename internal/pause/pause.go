// Package pause waits, and ends the waiting of others.
package pause

import (
	"context"
	"time"
)

// For waits, and returns the error of the context when that ends first.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// End tells who waits for the channel, which holds one signal, to go on. It does not block: where there is a signal
// already, that is enough.
func End(waits chan<- struct{}) {
	select {
	case waits <- struct{}{}:
	default:
	}
}
