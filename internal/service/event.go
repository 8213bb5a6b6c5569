package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// Events returns up to limit events of the orders that a key has created, oldest first, and the cursor after them:
// those that follow a cursor, or with nil the oldest that are kept. It returns webhook.CursorExpired for a cursor after
// which events are gone, and for one that was never given out: that of a database which was restored since.
func (s *Service) Events(
	ctx context.Context, actor access.Actor, after *webhook.Cursor, limit int,
) (events []*webhook.OrderEvent, next webhook.Cursor, err error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, 0, err
	}
	if after != nil {
		next = *after
	}
	if events, err = s.store.Events(ctx, actor.ID, next, limit); err != nil {
		return nil, 0, err
	}
	// Read after the events: what is deleted meanwhile is not passed over in silence.
	gone, err := s.store.EventsGone(ctx, actor.ID)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case after == nil && len(events) == 0:
		return nil, gone, nil
	case after != nil && next < gone:
		return nil, 0, webhook.CursorExpired(gone)
	case len(events) > 0:
		return events, events[len(events)-1].Position, nil
	}
	last, err := s.store.LastEvent(ctx, actor.Tenant)
	if err == nil && next > last {
		err = webhook.CursorExpired(gone)
	}
	return nil, next, err
}

// DeleteOldEvents removes up to limit events from before the time, and returns how many. PostgreSQL drops whole parts
// of them, which do not count.
func (s *Service) DeleteOldEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.deleteOld(ctx, before, limit, &partitioned{
		"events", s.store.DropOldEvents, s.store.HasEvents, (*store.Tx).DeleteOldEvents,
	})
}
