// Package pause waits.
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
