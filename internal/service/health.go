package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/store"
)

// Health is how the service is now. What could not be reached has its error; the rest is still there.
type Health struct {
	Database      *store.SystemFacts
	DatabaseError error
	MediaError    error
	MediaLatency  time.Duration

	Orders            map[order.Status]int64 // Live
	OldestQueued      *time.Time             // due date of the first order of the queue
	PendingDeliveries int64
	OldestDelivery    *time.Time // since when the first delivery could be under way and is not
	CatalogVersion    int64
	Photos            photo.Totals // as they were uploaded, without what is derived from them
	Mail              bool         // there is a mail server
	QueuedMail        int64
	FailedMail        int64 // mails that could not be delivered, of the last weeks
}

// healthLimit bounds how long a broken part may hold up the page.
const healthLimit = 5 * time.Second

// Health looks at the parts of the service.
func (s *Service) Health(ctx context.Context, actor access.Actor) (*Health, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	limited := func(look func(context.Context) error) error { // one that hangs leaves the others their time
		ctx, cancel := context.WithTimeout(ctx, healthLimit)
		defer cancel()
		return look(ctx)
	}
	h := &Health{CatalogVersion: s.Catalog().Version(), Mail: s.SendsMail()}
	begun := time.Now()
	h.MediaError = limited(s.media.Ping)
	h.MediaLatency = time.Since(begun)
	h.DatabaseError = limited(func(ctx context.Context) error { return s.databaseHealth(ctx, h) })
	return h, nil
}

func (s *Service) databaseHealth(ctx context.Context, h *Health) error {
	facts, err := s.store.SystemFacts(ctx, time.Now)
	if err != nil {
		return err
	}
	h.Database = facts
	if h.Orders, err = s.store.OrderCounts(ctx, access.Live); err != nil {
		return err
	}
	queued := &order.Filter{Sort: order.DueFirst, Environment: access.Live, Statuses: []order.Status{order.Queued}}
	first, _, err := s.store.Orders(ctx, queued, nil, 1)
	if err != nil {
		return err
	}
	if len(first) > 0 {
		h.OldestQueued = first[0].DueAt
	}
	pending, oldest, err := s.store.QueueState(ctx, s.now())
	h.PendingDeliveries = pending
	if !oldest.IsZero() {
		h.OldestDelivery = &oldest
	}
	if err != nil {
		return err
	}
	if h.Photos, err = s.store.PhotoTotals(ctx); err != nil {
		return err
	}
	h.QueuedMail, h.FailedMail, err = s.store.MailCounts(ctx)
	return err
}
