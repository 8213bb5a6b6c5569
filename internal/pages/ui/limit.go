package ui

import (
	"context"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/ratelimit"
)

// Count counts a request of a key in a category, and refuses it when the minute has no room for it under the limit.
func Count(ctx context.Context, l ratelimit.Limiter, key, category string, limit int) error {
	d, err := l.Take(ctx, key, category, limit)
	if err != nil {
		return fault.UnavailableError(err)
	}
	if !d.Allowed {
		return fault.New(fault.RateLimited, fault.CodeRateLimited, "Too many requests.").After(d.RetryAfter)
	}
	return nil
}
