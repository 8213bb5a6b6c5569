package server

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/ratelimit"
)

// limits returns what counts requests and failed authentications: Redis, or this node by itself.
func (s *Server) limits() (ratelimit.Limiter, ratelimit.FailureCounter, error) {
	set := &s.app.Settings
	if set.Redis == "" {
		return ratelimit.NewMemory(time.Now), ratelimit.NewFailures(set.AuthFailureLimit, time.Now), nil
	}
	shared, err := ratelimit.NewRedis(ratelimit.RedisConfig{
		URL: set.Redis, FailureLimit: set.AuthFailureLimit, Patience: cmp.Or(set.patience, ratelimit.DefaultPatience),
		Now: time.Now, Log: s.app.Log, Metrics: s.metrics.registry,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("--redis %w", err)
	}
	s.redis, s.app.attempts.redis = shared, shared
	s.workers = append(s.workers, shared)
	return shared, shared, nil
}

// signInWindows are the windows of attempts to sign in. Without Redis they are away: the database counts.
type signInWindows struct{ redis *ratelimit.Redis }

// Count implements signin.SharedWindows.
func (w *signInWindows) Count(
	ctx context.Context, windows ...ratelimit.Counter,
) (retryAfter time.Duration, full bool, err error) {
	if w.redis == nil {
		return 0, false, ratelimit.ErrAway
	}
	return w.redis.Count(ctx, windows...)
}

// GiveBack implements signin.SharedWindows.
func (w *signInWindows) GiveBack(ctx context.Context, keys ...string) error {
	if w.redis == nil {
		return ratelimit.ErrAway
	}
	return w.redis.GiveBack(ctx, keys...)
}
