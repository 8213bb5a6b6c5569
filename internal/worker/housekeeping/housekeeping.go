// Package housekeeping runs periodic tasks: it expires unanswered photo requests and idle claims, deletes unused
// photos, old sessions, idempotency keys, delivery attempts and failed mails, and updates the daily statistics.
package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/service"
)

// Keeper runs the tasks. It is a worker.
type Keeper struct {
	Service *service.Service
	Now     func() time.Time
	Log     *slog.Logger

	PhotoRequestAge time.Duration // after which an unanswered photo request expires
	UnusedPhotoAge  time.Duration // after which an unused photo is deleted
	ClaimAge        time.Duration // after which a claim without activity expires
	AttemptAge      time.Duration // after which delivery attempts and failed mails are deleted
	EventAge        time.Duration // after which events are deleted
}

const (
	batch       = 100
	minInterval = time.Second
	maxInterval = time.Minute
)

// Name implements the worker interface.
func (k *Keeper) Name() string { return "housekeeping" }

// Run runs a round at once and then at intervals, until ctx ends. It returns after a round with errors: the supervisor
// logs them and starts it again.
func (k *Keeper) Run(ctx context.Context) error {
	interval := min(max(min(k.PhotoRequestAge, k.UnusedPhotoAge, k.ClaimAge, k.EventAge)/10, minInterval), maxInterval)
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

// task is a piece of work that is done in batches. run returns the number of rows it has handled.
type task struct {
	name string
	run  func(ctx context.Context) (int, error)
}

func (k *Keeper) tasks(now time.Time) []task {
	s := k.Service
	type runFunc = func(context.Context) (int, error)
	older := func(age time.Duration, run func(ctx context.Context, before time.Time, limit int) (int, error)) runFunc {
		return func(ctx context.Context) (int, error) { return run(ctx, now.Add(-age), batch) }
	}
	expired := func(run func(ctx context.Context, limit int) (int, error)) runFunc {
		return func(ctx context.Context) (int, error) { return run(ctx, batch) }
	}
	return []task{
		{"photo requests expired", older(k.PhotoRequestAge, s.ExpirePhotoRequests)},
		{"claims returned", older(k.ClaimAge, s.ExpireClaims)},
		{"sessions ended", expired(s.DeleteExpiredSessions)},
		{"challenges forgotten", expired(s.DeleteOldChallenges)},
		{"sign-in attempts forgotten", expired(s.DeleteOldSignInAttempts)},
		{"browsers forgotten", expired(s.DeleteOldDevices)},
		{"unused photos deleted", older(k.UnusedPhotoAge, s.DeleteUnusedPhotos)},
		{"idempotency keys forgotten", expired(s.DeleteOldIdempotencyKeys)},
		{"delivery attempts forgotten", older(k.AttemptAge, s.DeleteOldAttempts)},
		{"events forgotten", older(k.EventAge, s.DeleteOldEvents)},
		{"paused deliveries ended", expired(s.FailPausedDeliveries)},
		{"mails given up or forgotten", older(k.AttemptAge, s.DeleteOldMail)},
		{"days counted", s.SaveStatistics},
	}
}

// Round runs every task until nothing is left to do. A task that fails does not stop the others: their errors are
// joined.
func (k *Keeper) Round(ctx context.Context) error {
	var failures []error
	for _, task := range k.tasks(k.Now()) {
		if err := k.finish(ctx, task); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", task.name, err))
		}
	}
	return errors.Join(failures...)
}

// finish runs a task batch by batch until a batch is not full or fails.
func (k *Keeper) finish(ctx context.Context, task task) error {
	for ctx.Err() == nil {
		n, err := task.run(ctx)
		if n > 0 {
			k.Log.InfoContext(ctx, "housekeeping", "done", task.name, "count", n)
		}
		if err != nil || n < batch {
			return err
		}
	}
	return nil
}
