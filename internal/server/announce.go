package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
)

// changeExchange tells other nodes what has changed through this one, and hears what has changed through them, so that
// nobody waits for the next look at the database. It is a worker. What is not told or heard is found by that look.
type changeExchange struct {
	store *store.Store
	log   *slog.Logger
	heard map[service.Change]func()

	mu   sync.Mutex
	news map[service.Change]bool // not told yet
	wake chan struct{}
}

// changeInterval is the least time between two announcements, however much changes.
const changeInterval = 20 * time.Millisecond

func newChangeExchange(s *store.Store, log *slog.Logger) *changeExchange {
	return &changeExchange{
		store: s, log: log, heard: make(map[service.Change]func()), news: make(map[service.Change]bool),
		wake: make(chan struct{}, 1),
	}
}

// Name implements Worker.
func (*changeExchange) Name() string { return "announcements" }

// tell says that something has changed. It does not block.
func (x *changeExchange) tell(c service.Change) {
	x.mu.Lock()
	x.news[c] = true
	x.mu.Unlock()
	pause.Signal(x.wake)
}

// Run tells and hears until ctx ends.
func (x *changeExchange) Run(ctx context.Context) error {
	var hearing sync.WaitGroup
	defer hearing.Wait()
	hearing.Go(func() { x.hear(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-x.wake:
		}
		x.mu.Lock()
		news := x.news
		x.news = make(map[service.Change]bool)
		x.mu.Unlock()
		for c := range news {
			if err := x.store.AnnounceChange(ctx, string(c)); err != nil && ctx.Err() == nil {
				x.log.WarnContext(ctx, "a change could not be announced to other nodes", "change", c, "error", err)
			}
		}
		_ = pause.For(ctx, changeInterval)
	}
}

// hear calls who wants to know of each change; of all of them when it begins to listen.
func (x *changeExchange) hear(ctx context.Context) {
	for ctx.Err() == nil {
		err := x.store.ListenChanges(ctx, func(change string) {
			for c, act := range x.heard {
				if change == "" || change == string(c) {
					act()
				}
			}
		})
		if ctx.Err() == nil {
			x.log.WarnContext(ctx, "connection that listens for changes failed", "error", err)
			_ = pause.For(ctx, listenPause)
		}
	}
}

// photoExchange tells of new photos where this node makes no images, and hears of them where it does. It is a worker.
// What is not told, because the queue is full or the database is away, is made when it is first looked at.
type photoExchange struct {
	store *store.Store
	log   *slog.Logger
	ask   func(accountID string, names []string) // has images made; nil: by other nodes
	told  chan announcement
}

// announcement is of photos of one account.
type announcement struct {
	accountID string
	names     []string
}

const (
	photoQueue  = 1024
	listenPause = time.Second // before it listens again
)

func newPhotoExchange(s *store.Store, log *slog.Logger, ask func(accountID string, names []string)) *photoExchange {
	return &photoExchange{store: s, log: log, ask: ask, told: make(chan announcement, photoQueue)}
}

// Name implements Worker.
func (*photoExchange) Name() string { return "photo-announcer" }

// tell queues photos to tell of. It does not block.
func (x *photoExchange) tell(accountID string, names []string) {
	select {
	case x.told <- announcement{accountID, names}:
	default:
	}
}

// Run tells or hears until ctx ends.
func (x *photoExchange) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if x.ask == nil {
			select {
			case <-ctx.Done():
			case a := <-x.told:
				if err := x.store.AnnouncePhotos(ctx, a.accountID, a.names); err != nil && ctx.Err() == nil {
					x.log.WarnContext(ctx, "photos could not be announced to other nodes", "error", err)
				}
			}
			continue
		}
		err := x.store.ListenPhotos(ctx, x.ask)
		if ctx.Err() != nil {
			return nil
		}
		x.log.WarnContext(ctx, "connection that listens for photos failed", "error", err)
		_ = pause.For(ctx, listenPause)
	}
	return nil
}
