package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/assayhq/assay/internal/worker/housekeeping"
	"github.com/assayhq/assay/internal/worker/liveness"
)

// Worker does something in the background until its context ends, then returns nil.
type Worker interface {
	Name() string
	Run(ctx context.Context) error
}

const (
	firstPause = time.Second
	longPause  = 8 * time.Second
)

// supervise restarts a worker that fails, with growing pauses: a database that is unreachable for a while must not end
// the server. After a worker has run for a while the pauses start from the shortest again.
func (s *Server) supervise(ctx context.Context, w Worker) error {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		started := time.Now()
		s.health.began(w.Name(), started)
		err := runWorker(ctx, w)
		if ctx.Err() != nil {
			return nil
		}
		s.health.failed(w.Name(), time.Now())
		if time.Since(started) > longPause {
			pause = firstPause
		}
		s.app.Log.ErrorContext(ctx, "worker failed",
			"worker", w.Name(), "error", err, "cause", errors.Unwrap(err), "again_in", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func runWorker(ctx context.Context, w Worker) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return w.Run(ctx)
}

// catalogRefresher loads a catalog that another node or a command has imported, within a second.
type catalogRefresher struct {
	refresh func(context.Context) error
	log     *slog.Logger
	done    *liveness.Mark
	now     chan struct{} // look at once; nil: nobody says so
	every   time.Duration // 0: catalogInterval
}

// wake has it look at once. It does not block.
func (c *catalogRefresher) wake() {
	select {
	case c.now <- struct{}{}:
	default:
	}
}

// catalogInterval leaves time to load the catalog within the promised second.
const catalogInterval = 400 * time.Millisecond

// Name names the worker.
func (c *catalogRefresher) Name() string { return "catalog" }

// Progress tells how long ago the catalog was last looked at.
func (c *catalogRefresher) Progress() (age, limit time.Duration) { return c.done.Age(), liveness.Limit }

// Run polls for a new catalog until ctx ends. It continues while the database is unreachable, so that the promise holds
// as soon as the database is back.
func (c *catalogRefresher) Run(ctx context.Context) error {
	liveness.Poll(ctx, cmp.Or(c.every, catalogInterval), c.now, func(ctx context.Context) error {
		err := c.refresh(ctx)
		if err == nil {
			c.done.Set()
		}
		return err
	}, func(err error) {
		c.log.WarnContext(ctx, "catalog cannot be refreshed", "error", err, "cause", errors.Unwrap(err))
	})
	return nil
}

// clockGuard compares the clock with what else tells the time.
func (a *App) clockGuard() *housekeeping.ClockGuard {
	started := time.Now()
	g := &housekeeping.ClockGuard{
		Elapsed: func() time.Duration { return time.Since(started) }, Newest: a.Store.NewestTime,
	}
	if a.Store.Shared() {
		g.Database = a.Store.Clock
	}
	return g
}
