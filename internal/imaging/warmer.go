package imaging

import (
	"context"
	"errors"
	"log/slog"

	"github.com/assayhq/assay/internal/media"
)

// warmQueue is how many photos may wait: those of some fifty large orders.
const warmQueue = 4096

// Warmer is a worker that makes derived images before they are requested, one photo at a time. What does not fit into
// its queue, or is lost when the server stops, is made at the first request.
type Warmer struct {
	cache  *Cache
	log    *slog.Logger
	names  chan string
	recent map[string]bool // done already: one photo may be in many orders
}

// NewWarmer returns a worker over a cache.
func NewWarmer(cache *Cache, log *slog.Logger) *Warmer {
	return &Warmer{cache: cache, log: log, names: make(chan string, warmQueue), recent: make(map[string]bool)}
}

// Ask queues photos whose images will be requested soon. It never blocks.
func (w *Warmer) Ask(names []string) {
	for _, name := range names {
		select {
		case w.names <- name:
		default:
			return
		}
	}
}

// Name names the worker.
func (w *Warmer) Name() string { return "images" }

// Run makes images until ctx ends.
func (w *Warmer) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case name := <-w.names:
			if w.recent[name] {
				continue
			}
			err := w.cache.Make(ctx, name)
			if err != nil && ctx.Err() == nil && !errors.Is(err, ErrUndecodable) && !errors.Is(err, media.ErrNotFound) {
				w.log.WarnContext(ctx, "images of a photo are not made ahead",
					"name", name, "error", err, "cause", errors.Unwrap(err))
				continue
			}
			if len(w.recent) >= warmQueue {
				clear(w.recent)
			}
			w.recent[name] = true
		}
	}
}
