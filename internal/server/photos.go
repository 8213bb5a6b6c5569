package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/store"
)

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
