// Package housekeeping runs periodic tasks: it expires unanswered photo requests and idle claims, deletes unused
// photos, old sessions, idempotency keys, deliveries, their attempts, links, catalogs and failed mails, and updates the
// daily statistics. A worker of its own sweeps the media store.
package housekeeping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/worker/lease"
	"github.com/assayhq/assay/internal/worker/liveness"
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
	DeliveryAge     time.Duration // after which ended deliveries are deleted
	RequestLogAge   time.Duration // after which requests are deleted from the request log
	PhotoAge        time.Duration // after which the photos of ended orders are erased; 0: never
	PortalLogAge    time.Duration // after which entries of the logs of the portal are removed; 0: never

	Turn time.Duration // for which a task gets batch after batch in a round; 0: 10 s

	Lease   *lease.Lease          // nil: there is no other node
	Clock   *ClockGuard           // nil: Now is always right
	Done    *liveness.Mark        // set after each batch and each round; nil: not kept
	Metrics prometheus.Registerer // nil: not registered

	metrics metrics
	rounds  liveness.Rounds
}

// metrics tell what housekeeping could not do.
type metrics struct {
	once    sync.Once
	skipped *prometheus.CounterVec
	paused  prometheus.Gauge
}

func (k *Keeper) initMetrics() {
	k.metrics.once.Do(func() {
		k.metrics.skipped = prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "assay_housekeeping_skipped_total", Help: "Rows that a housekeeping task could not handle, by task.",
		}, []string{"task"})
		k.metrics.paused = prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "assay_housekeeping_paused", Help: "1 while nothing is expired or deleted because the clock seems wrong.",
		})
		for _, task := range k.tasks(time.Time{}) {
			k.metrics.skipped.WithLabelValues(task.name)
		}
		if k.Metrics != nil {
			k.Metrics.MustRegister(k.metrics.skipped, k.metrics.paused)
		}
	})
}

const (
	batch       = 100
	minInterval = time.Second
	maxInterval = time.Minute
	defaultTurn = 10 * time.Second
)

// Name implements the worker interface.
func (k *Keeper) Name() string { return "housekeeping" }

// maxRound is how long a round may take that gets nothing done. What piled up is done in turns.
const maxRound = 15 * time.Minute

// Progress tells how long ago a round ended, or something was done in one.
func (k *Keeper) Progress() (age, limit time.Duration) { return k.Done.Age(), maxRound }

// Failures tells of the rounds that failed on this node.
func (k *Keeper) Failures() liveness.Failures { return k.rounds.Failures() }

// Run runs a round at once and then at intervals, until ctx ends. After one with errors, too, the next one waits for
// its time, on this node, unless there is more to do: what fails for long must not run all the time.
func (k *Keeper) Run(ctx context.Context) error {
	interval := min(max(k.shortest()/10, minInterval), maxInterval)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	defer k.Lease.Return(ctx)
	for {
		more := false
		done, err := k.Lease.Do(ctx, 2*interval, func(ctx context.Context) (err error) {
			more, err = k.round(ctx)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			k.rounds.Ended(err)
			k.Log.ErrorContext(ctx, "housekeeping failed", "error", err)
			tick.Reset(interval) // however long the round took
		case !done: // another node does it
			k.rounds.Ended(nil)
			k.Done.Set()
		}
		if done && more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// shortest is the shortest of the ages that are limited.
func (k *Keeper) shortest() time.Duration {
	shortest := k.ClaimAge
	for _, age := range []time.Duration{
		k.PhotoRequestAge, k.UnusedPhotoAge, k.AttemptAge, k.EventAge, k.DeliveryAge, k.RequestLogAge, k.PhotoAge,
		k.PortalLogAge,
	} {
		if age > 0 {
			shortest = min(shortest, age)
		}
	}
	return shortest
}

// task is a piece of work that is done in batches. run returns the number of rows it has handled.
type task struct {
	name string
	run  func(ctx context.Context) (int, error)
}

func (k *Keeper) tasks(now time.Time) []task {
	s := k.Service
	type runFunc = func(context.Context) (int, error)
	type deleteFunc = func(ctx context.Context, before time.Time, limit int) (int, error)
	older := func(age time.Duration, run deleteFunc) runFunc {
		return func(ctx context.Context) (int, error) { return run(ctx, now.Add(-age), batch) }
	}
	expired := func(run func(ctx context.Context, limit int) (int, error)) runFunc {
		return func(ctx context.Context) (int, error) { return run(ctx, batch) }
	}
	optional := func(age time.Duration, run deleteFunc) runFunc { // 0: never
		if age <= 0 {
			return func(context.Context) (int, error) { return 0, nil }
		}
		return older(age, run)
	}
	return []task{
		{"logs of the portal trimmed", optional(k.PortalLogAge, s.TrimPortalLogs)},
		{"photo requests expired", older(k.PhotoRequestAge, s.ExpirePhotoRequests)},
		{"claims returned", older(k.ClaimAge, s.ExpireClaims)},
		{"sessions ended", expired(s.DeleteExpiredSessions)},
		{"challenges forgotten", expired(s.DeleteOldChallenges)},
		{"sign-in attempts forgotten", expired(s.DeleteOldSignInAttempts)},
		{"browsers forgotten", expired(s.DeleteOldDevices)},
		{"unused photos deleted", older(k.UnusedPhotoAge, s.DeleteUnusedPhotos)},
		{"photos of old orders erased", optional(k.PhotoAge, s.EraseOldPhotos)},
		{"idempotency keys forgotten", expired(s.DeleteOldIdempotencyKeys)},
		{"delivery attempts forgotten", older(k.AttemptAge, s.DeleteOldAttempts)},
		{"deliveries forgotten", older(k.DeliveryAge, s.DeleteOldDeliveries)},
		{"approvals expired", expired(s.ExpireApprovals)},
		{"links forgotten", expired(s.DeleteOldLinks)},
		{"capture links expired", expired(s.ExpireCaptureLinks)},
		{"capture links forgotten", expired(s.DeleteOldCaptureLinks)},
		{"previous secrets forgotten", expired(s.ForgetEndedSecrets)},
		{"catalogs forgotten", expired(s.DeleteOldCatalogs)},
		{"uploaded catalogs forgotten", expired(s.DeleteOldCatalogDrafts)},
		{"leases forgotten", expired(s.DeleteOldLeases)},
		{"partitions made", s.MakePartitions},
		{"events forgotten", older(k.EventAge, s.DeleteOldEvents)},
		{"requests forgotten", older(k.RequestLogAge, s.DeleteOldRequests)},
		{"paused deliveries ended", expired(s.FailPausedDeliveries)},
		{"failing endpoints told about", expired(s.NotifyFailingEndpoints)},
		{"mails given up or forgotten", older(k.AttemptAge, s.DeleteOldMail)},
		{"days counted", s.SaveStatistics},
	}
}

// Round runs every task until nothing is left to do, or its turn is over, unless the clock seems wrong. A task that
// fails does not stop the others: their errors are joined.
func (k *Keeper) Round(ctx context.Context) error {
	_, err := k.round(ctx)
	return err
}

// round is Round. It reports whether there is more to do at once: the turn of a task was over before it had ended.
func (k *Keeper) round(ctx context.Context) (more bool, err error) {
	k.initMetrics()
	defer k.Done.Set()
	now := k.Now()
	if paused, err := k.clockIsWrong(ctx, now); paused || err != nil {
		return false, err
	}
	var failures []error
	for _, task := range k.tasks(now) {
		ended, err := k.takeTurn(ctx, task)
		more = more || !ended
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", task.name, err))
			rows := 1
			if skipped, ok := errors.AsType[*fault.Skipped](err); ok {
				rows = skipped.Rows
			}
			k.metrics.skipped.WithLabelValues(task.name).Add(float64(rows))
		}
	}
	if len(failures) == 0 { // one that pauses does not end what failed before
		k.rounds.Ended(nil)
	}
	return more, errors.Join(failures...)
}

func (k *Keeper) clockIsWrong(ctx context.Context, now time.Time) (bool, error) {
	why, err := k.Clock.Check(ctx, now)
	if err != nil {
		return false, fmt.Errorf("check the clock: %w", err)
	}
	if why == "" {
		k.metrics.paused.Set(0)
		return false, nil
	}
	k.metrics.paused.Set(1)
	k.Log.ErrorContext(ctx, "HOUSEKEEPING PAUSES: nothing is expired or deleted by a clock that may be wrong; "+
		"an hour after it runs steadily it is believed", "reason", why)
	return true, nil
}

// takeTurn runs a task batch by batch until a batch is not full or fails, which ends it, or its turn is over.
func (k *Keeper) takeTurn(ctx context.Context, task task) (ended bool, err error) {
	turn := cmp.Or(k.Turn, defaultTurn)
	for begun := time.Now(); ctx.Err() == nil; {
		n, err := task.run(ctx)
		if n > 0 {
			k.Done.Set()
			k.Log.InfoContext(ctx, "housekeeping", "done", task.name, "count", n)
		}
		if err != nil || n < batch {
			return true, err
		}
		if time.Since(begun) >= turn {
			return false, nil
		}
	}
	return true, nil
}
