package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// announceInterval is the minimum time between announcements.
const announceInterval = 20 * time.Millisecond

// Announcer tells the senders of other nodes that deliveries were queued. It is the worker of a node that sends none
// itself, and a part of a Sender.
type Announcer struct {
	store *store.Store
	log   *slog.Logger
	node  string // who announces
	now   chan struct{}
}

// NewAnnouncer returns an announcer; Run starts it.
func NewAnnouncer(s *store.Store, log *slog.Logger) *Announcer {
	return &Announcer{store: s, log: log, node: uuid7.New(), now: make(chan struct{}, 1)}
}

// Name implements the worker interface.
func (a *Announcer) Name() string { return "webhook-announcer" }

// Wake says that deliveries were queued. It does not block.
func (a *Announcer) Wake() { pause.Signal(a.now) }

// Run announces until ctx ends. An announcement that is lost is made up for by the senders' polling.
func (a *Announcer) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.now:
		}
		if err := a.store.AnnounceDeliveries(ctx, a.node); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "deliveries could not be announced to other nodes", "error", err)
		}
		_ = pause.For(ctx, announceInterval)
	}
}
