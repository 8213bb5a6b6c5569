package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/pause"
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
	for wait := firstPause; ; wait = min(2*wait, longPause) {
		started := time.Now()
		s.health.began(w.Name(), started)
		err := runWorker(ctx, w)
		if ctx.Err() != nil {
			return nil
		}
		s.health.failed(w.Name(), time.Now(), err)
		if time.Since(started) > longPause {
			wait = firstPause
		}
		s.app.Log.ErrorContext(ctx, "worker failed", "worker", w.Name(), "error", err, "again_in", wait)
		if pause.For(ctx, wait) != nil {
			return nil
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
	rounds  liveness.Rounds
}

// wake has it look at once. It does not block.
func (c *catalogRefresher) wake() { pause.Signal(c.now) }

// catalogInterval leaves time to load the catalog within the promised second.
const catalogInterval = 400 * time.Millisecond

// Name names the worker.
func (c *catalogRefresher) Name() string { return "catalog" }

// Progress tells how long ago the catalog was last looked at.
func (c *catalogRefresher) Progress() (age, limit time.Duration) { return c.done.Age(), liveness.Limit }

// Failures tells how often the catalog could not be looked at.
func (c *catalogRefresher) Failures() liveness.Failures { return c.rounds.Failures() }

// Run polls for a new catalog until ctx ends. It continues while the database is unreachable, so that the promise holds
// as soon as the database is back.
func (c *catalogRefresher) Run(ctx context.Context) error {
	liveness.Poll(ctx, cmp.Or(c.every, catalogInterval), c.now, func(ctx context.Context) error {
		err := c.refresh(ctx)
		c.rounds.Ended(err)
		if err == nil {
			c.done.Set()
		}
		return err
	}, func(err error) {
		c.log.WarnContext(ctx, "catalog cannot be refreshed", "error", err)
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

// QuietHeap makes the garbage collector run less often. It runs when the heap has doubled since its last run, and the
// server keeps so little alive that under load this happens dozens of times a second. The bytes count as alive but are
// never touched, so the kernel gives no memory for them; what grows is the garbage that may lie between two runs, by
// this much and no more, however large the heap is.
//
// The caller keeps the result reachable as long as it serves, and asks for it before anything else is allocated: memory
// that was used before would have to be cleared, and so be touched.
func QuietHeap() []byte { return make([]byte, 16<<20) }

// When memory is given back to the system: see returnMemory.
const (
	startTime      = time.Second // that workers need for their first look at what there is to do
	memoryInterval = 15 * time.Second
	quietRate      = 64 << 20 // bytes that are allocated in an interval while there is little to do
	worthReturning = 64 << 20 // bytes more than were left the last time
)

// returnMemory gives memory back when a rush is over, until ctx ends. By itself the collector runs every two minutes in
// a server that has little to do, and what it finds then is returned slowly.
func returnMemory(ctx context.Context) {
	if pause.For(ctx, startTime) != nil {
		return
	}
	debug.FreeOSMemory()    // what only the start needed
	_ = host.UnmapProgram() // the same; where it fails, these pages stay
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	before, left := memoryUse()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		allocated, held := memoryUse()
		if quiet := allocated-before < quietRate; quiet && held > left+worthReturning {
			debug.FreeOSMemory()
			_, left = memoryUse()
		}
		before = allocated
	}
}

// memoryUse tells how many bytes were ever allocated, and how many the program holds.
func memoryUse() (allocated, held uint64) {
	samples := []runtimemetrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	runtimemetrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64() - samples[2].Value.Uint64()
}
