package imaging

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"

	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pause"
)

// warmQueue is how many photos may wait: those of some fifty large orders.
const warmQueue = 4096

// warmers returns how many photos are worked on at a time, and how many of one account: as many as there are cores. One
// more is for the others, when its photos take for ever.
func warmers() (all, ofOne int) { return runtime.GOMAXPROCS(0) + 1, runtime.GOMAXPROCS(0) }

// Warmer is a worker that makes derived images before they are requested. Where photos of several accounts wait, the
// next is one of the account that has the fewest in work. What does not fit into its queue, or is lost when the server
// stops, is made at the first request.
type Warmer struct {
	cache *Cache
	log   *slog.Logger
	wake  chan struct{} // has one when something waits

	mu      sync.Mutex
	waiting map[string][]string // names by account
	order   []string            // accounts that wait; the first one longest
	queued  int
	recent  map[string]bool // done already: one photo may be in many orders
}

// NewWarmer returns a worker over a cache.
func NewWarmer(cache *Cache, log *slog.Logger) *Warmer {
	return &Warmer{
		cache: cache, log: log, wake: make(chan struct{}, 1),
		waiting: make(map[string][]string), recent: make(map[string]bool),
	}
}

// Ask queues photos of an account whose images will be requested soon. It never blocks. Where the queue is full, those
// who have most in it lose their last.
func (w *Warmer) Ask(account string, names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		if w.queued == warmQueue && !w.dropFor(account) {
			break
		}
		if len(w.waiting[account]) == 0 {
			w.order = append(w.order, account)
		}
		w.waiting[account] = append(w.waiting[account], name)
		w.queued++
	}
	pause.Signal(w.wake)
}

// dropFor makes room for a photo of an account, unless that account has most photos in the queue itself.
func (w *Warmer) dropFor(account string) bool {
	longest := slices.MaxFunc(w.order, func(a, b string) int { return len(w.waiting[a]) - len(w.waiting[b]) })
	last := len(w.waiting[longest]) - 1
	if last <= len(w.waiting[account]) {
		return false
	}
	w.waiting[longest] = w.waiting[longest][:last]
	w.queued--
	return true
}

// next returns the next photo: of the account that has the fewest in work, of several the one that waits longest.
func (w *Warmer) next(working map[string]int, most int) (account, name string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.order) > 0 {
		account := slices.MinFunc(w.order, func(a, b string) int { return working[a] - working[b] })
		if working[account] >= most {
			break
		}
		name, rest := w.waiting[account][0], w.waiting[account][1:]
		w.order = slices.DeleteFunc(w.order, func(a string) bool { return a == account })
		w.queued--
		if len(rest) == 0 {
			delete(w.waiting, account)
		} else {
			w.waiting[account] = rest
			w.order = append(w.order, account)
		}
		if !w.recent[name] {
			return account, name, true
		}
	}
	return "", "", false
}

// Name names the worker.
func (w *Warmer) Name() string { return "images" }

// Run makes images until ctx ends.
func (w *Warmer) Run(ctx context.Context) error {
	all, ofOne := warmers()
	working, total := make(map[string]int), 0
	done := make(chan string)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	for {
		for total < all && ctx.Err() == nil {
			account, name, ok := w.next(working, ofOne)
			if !ok {
				break
			}
			working[account]++
			total++
			tasks.Go(func() {
				w.warm(ctx, account, name)
				select {
				case done <- account:
				case <-ctx.Done():
				}
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case account := <-done:
			total--
			if working[account]--; working[account] == 0 {
				delete(working, account)
			}
		case <-w.wake:
		}
	}
}

// warm makes the images of a photo.
func (w *Warmer) warm(ctx context.Context, account, name string) {
	err := w.cache.Make(OfAccount(ctx, account), name)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrUndecodable) && !errors.Is(err, media.ErrNotFound) {
		w.log.WarnContext(ctx, "images of a photo are not made ahead", "name", name, "error", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.recent) >= warmQueue {
		clear(w.recent)
	}
	w.recent[name] = true
}
