// Package requestlog gathers the requests of the integration API in memory and stores them in blocks, off the way of
// the requests. What does not fit is dropped, counted and said: a request never waits for its entry.
package requestlog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/worker/liveness"
)

const (
	maxMemory = 8 << 20 // of requests that are not stored yet, in bytes
	wakeAt    = 2 << 20 // bytes that are stored before the interval is over
	overhead  = 512     // of a block
	interval  = time.Second
	sayEvery  = time.Minute

	// maxTogether is how many blocks are stored in a transaction, which has to end in time however many there are.
	maxTogether = 200
)

// Store is where requests are stored; *service.Service is one.
type Store interface {
	RecordRequests(ctx context.Context, blocks []*requestlog.Block) error
}

// Log gathers requests. It is a worker.
type Log struct {
	store    Store
	log      *slog.Logger
	done     *liveness.Mark
	rounds   liveness.Rounds
	wake     chan struct{}
	recorded prometheus.Counter
	dropped  prometheus.Counter
	flushing chan struct{} // holds a value while a flush runs: one at a time

	mu     sync.Mutex
	open   map[access.Tenant]*requestlog.Block
	full   []*requestlog.Block
	bytes  int   // of all blocks that are not stored
	missed int64 // that nothing was said about
}

// New returns an empty log.
func New(store Store, log *slog.Logger, metrics prometheus.Registerer) *Log {
	l := &Log{
		store: store, log: log, done: liveness.New(), wake: make(chan struct{}, 1), flushing: make(chan struct{}, 1),
		open: make(map[access.Tenant]*requestlog.Block),
		recorded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "assay_request_log_recorded_total", Help: "Requests that were stored in the request log.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "assay_request_log_dropped_total", Help: "Requests that are missing in the request log.",
		}),
	}
	metrics.MustRegister(l.recorded, l.dropped)
	return l
}

// Add records a request. It never waits for the database.
func (l *Log) Add(e requestlog.Entry) {
	l.mu.Lock()
	if l.bytes > maxMemory {
		l.missed++
		l.mu.Unlock()
		l.dropped.Inc()
		return
	}
	b := l.open[e.Tenant]
	if b == nil {
		b = requestlog.NewBlock(e.Tenant)
		l.open[e.Tenant] = b
		l.bytes += overhead
	}
	before := b.Size()
	b.Add(&e)
	l.bytes += b.Size() - before
	if b.Requests == requestlog.MaxBlock {
		l.full = append(l.full, b)
		delete(l.open, e.Tenant)
	}
	much := l.bytes > wakeAt
	l.mu.Unlock()
	if much {
		pause.Signal(l.wake)
	}
}

// Name names the worker.
func (l *Log) Name() string { return "request log" }

// Progress tells how long ago everything was stored. Requests are answered whether they are recorded or not.
func (l *Log) Progress() (age, limit time.Duration) { return l.done.Age(), liveness.NoLimit }

// Failures tells how often what was recorded could not be stored.
func (l *Log) Failures() liveness.Failures { return l.rounds.Failures() }

// Run stores what was recorded until ctx ends. What comes after is stored by Flush.
func (l *Log) Run(ctx context.Context) error {
	var said time.Time
	liveness.Poll(ctx, interval, l.wake, func(ctx context.Context) error {
		err := l.Flush(ctx)
		l.rounds.Ended(err)
		if time.Since(said) > sayEvery {
			if n := l.takeMissed(); n > 0 {
				said = time.Now()
				l.log.WarnContext(ctx, "requests are missing in the request log: more came than could be stored", "requests", n)
			}
		}
		return err
	}, func(err error) {
		l.log.WarnContext(ctx, "the request log cannot be written", "error", err)
	})
	return nil
}

func (l *Log) takeMissed() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.missed
	l.missed = 0
	return n
}

// Flush stores what was recorded so far. What cannot be stored stays for the next time.
func (l *Log) Flush(ctx context.Context) error {
	select {
	case l.flushing <- struct{}{}:
		defer func() { <-l.flushing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for blocks := l.take(); len(blocks) > 0; {
		some := blocks[:min(len(blocks), maxTogether)]
		if err := l.store.RecordRequests(ctx, some); err != nil {
			l.mu.Lock()
			l.full = append(blocks, l.full...)
			l.mu.Unlock()
			return err
		}
		l.mu.Lock()
		for _, b := range some {
			l.bytes -= b.Size() + overhead
			l.recorded.Add(float64(b.Requests))
		}
		l.mu.Unlock()
		blocks = blocks[len(some):]
	}
	l.done.Set()
	return nil
}

// take returns all blocks. Their bytes still count.
func (l *Log) take() []*requestlog.Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	blocks := l.full
	l.full = nil
	for _, b := range l.open {
		blocks = append(blocks, b)
	}
	clear(l.open)
	return blocks
}
