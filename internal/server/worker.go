package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/assayhq/assay/internal/service"
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

// supervise runs a worker again when it fails, with growing pauses: a database that is away for a while must not end
// the server. A worker that has run for a while before it failed starts with a short pause again.
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
		s.app.Log.ErrorContext(ctx, "worker failed", "worker", w.Name(), "error", err, "cause", errors.Unwrap(err), "again_in", pause)
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

// catalogRefresher takes over a catalog that another node or a command has imported, within a second.
type catalogRefresher struct{ service *service.Service }

// catalogInterval is short because operators import and try at once; what it costs is one look at an index.
const catalogInterval = 50 * time.Millisecond

// Name names the worker.
func (c *catalogRefresher) Name() string { return "catalog" }

// Run looks for a new catalog until ctx ends. When the database is away it goes on looking, so that the promise holds
// as soon as the database is back.
func (c *catalogRefresher) Run(ctx context.Context) error {
	tick := time.NewTicker(catalogInterval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := c.service.RefreshCatalog(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			c.service.Log.WarnContext(ctx, "catalog cannot be refreshed", "error", err, "cause", errors.Unwrap(err))
		}
		failing = err != nil
	}
}
