// Package pause waits, and signals others who wait.
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

// Signal tells who waits for the channel, which holds one signal, to go on. It does not block: where there is a signal
// already, that is enough.
func Signal(waits chan<- struct{}) {
	select {
	case waits <- struct{}{}:
	default:
	}
}
