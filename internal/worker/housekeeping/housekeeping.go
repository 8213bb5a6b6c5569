// Package housekeeping does what time demands: it ends photo requests that nobody answers, returns claims without activity
// to the queue, removes photos that no order uses, forgets sessions, idempotency keys and mail that could not be sent, and counts each day once.
package housekeeping

import (
	"context"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/service"
)

// Keeper runs the tasks. It is a worker.
type Keeper struct {
	Service *service.Service
	Log     *slog.Logger

	PhotoRequestAge time.Duration // of an unanswered photo request
	UnusedPhotoAge  time.Duration
	ClaimAge        time.Duration // of a claim without activity
	AttemptAge      time.Duration // of a delivery attempt in the log, and of the record of a mail that failed
}

const (
	batch       = 100
	minInterval = time.Second
	maxInterval = time.Minute
)

// Name names the worker.
func (k *Keeper) Name() string { return "housekeeping" }

// Run does a round at once and then at intervals, until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	interval := min(max(min(k.PhotoRequestAge, k.UnusedPhotoAge, k.ClaimAge)/10, minInterval), maxInterval)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := k.Round(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Round does all that is due now.
func (k *Keeper) Round(ctx context.Context) error {
	now := k.Service.Now()
	for _, task := range []struct {
		name string
		run  func() (int, error)
	}{
		{"photo requests expired", func() (int, error) { return k.Service.ExpirePhotoRequests(ctx, now.Add(-k.PhotoRequestAge), batch) }},
		{"claims returned", func() (int, error) { return k.Service.ExpireClaims(ctx, now.Add(-k.ClaimAge), batch) }},
		{"sessions ended", func() (int, error) { return k.Service.DeleteExpiredSessions(ctx, batch) }},
		{"challenges forgotten", func() (int, error) { return k.Service.ForgetChallenges(ctx, batch) }},
		{"unused photos deleted", func() (int, error) { return k.Service.DeleteUnusedPhotos(ctx, now.Add(-k.UnusedPhotoAge), batch) }},
		{"idempotency keys forgotten", func() (int, error) { return k.Service.DeleteOldIdempotencyKeys(ctx, batch) }},
		{"delivery attempts forgotten", func() (int, error) { return k.Service.ForgetAttempts(ctx, now.Add(-k.AttemptAge), batch) }},
		{"mails given up or forgotten", func() (int, error) { return k.Service.ForgetMail(ctx, now.Add(-k.AttemptAge), batch) }},
		{"days counted", func() (int, error) { return k.Service.KeepStatistics(ctx) }},
	} {
		for ctx.Err() == nil {
			n, err := task.run()
			if n > 0 {
				k.Log.InfoContext(ctx, "housekeeping", "done", task.name, "count", n)
			}
			if err != nil {
				return err
			}
			if n < batch {
				break
			}
		}
	}
	return nil
}
