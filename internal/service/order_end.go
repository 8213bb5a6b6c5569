package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// FailOrder ends an order that cannot be processed and refunds it. The customer gets no event.
func (s *Service) FailOrder(ctx context.Context, actor access.Actor, id, note string) (r *OrderRecord, err error) {
	if err := actor.Require(access.ReviewOrders); err != nil {
		return nil, err
	}
	_, err = s.endOrder(ctx, actor, id, order.Fail, note, func(tx *store.Tx, o *order.Order) error {
		r, err = orderRecord(ctx, tx.Queries, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// CancelOrder ends an order without a judgement and refunds it. An administrator cancels any order that has not ended,
// account users and API keys a queued one of their own. The note is for the timeline.
func (s *Service) CancelOrder(ctx context.Context, actor access.Actor, id, note string) (*order.Order, error) {
	if err := actor.Require(access.ManageOrders); err != nil {
		return nil, err
	}
	return s.endOrder(ctx, actor, id, order.Cancel, note, func(tx *store.Tx, o *order.Order) error {
		if err := s.record(tx, actor, aboutOrder(audit.OrderCancel, o, nil)); err != nil {
			return err
		}
		return s.recordStaffAction(tx, actor, onOrder(audit.OrderCanceled, o, withNote(nil, note)))
	})
}

// endOrder ends an order without a verdict, and calls after in the same transaction. An administrator ends one that
// cannot be read, too: the customer waits for an answer that nobody can give. What was there stays in the timeline.
func (s *Service) endOrder(
	ctx context.Context, actor access.Actor, id string, move order.Move, note string,
	after func(*store.Tx, *order.Order) error,
) (*order.Order, error) {
	var was map[string]string
	lock := func(ctx context.Context, tx *store.Tx, actor access.Actor, id string) (_ *order.Order, err error) {
		if was, err = s.repairOrder(tx, actor, id); err != nil {
			return nil, err
		}
		return lockOrder(ctx, tx, actor, id)
	}
	o, err := s.moveLocked(ctx, actor, id, lock, func(tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(ctx, tx, o, move, actor); err != nil {
			return err
		}
		if err := checkNote(note); err != nil {
			return err
		}
		if err := o.Apply(move, now); err != nil {
			return err
		}
		if move == order.Cancel {
			o.Outcome = order.Canceled
		}
		details := withNote(nil, note)
		if len(was) > 0 {
			details = with(details, "unreadable", was)
		}
		if err := s.saveMove(ctx, tx, o, actor, details); err != nil {
			return err
		}
		return after(tx, o)
	})
	if err == nil && len(was) > 0 {
		s.log.ErrorContext(ctx, "an order that cannot be read was ended", "order", o.ID, "move", move,
			"unreadable", slices.Sorted(maps.Keys(was)))
	}
	return o, err
}

// repairOrder makes an order readable that an administrator is about to end, and returns what was there.
func (s *Service) repairOrder(tx *store.Tx, actor access.Actor, id string) (was map[string]string, err error) {
	id, ok := store.ParseID(id)
	if !ok || actor.Require(access.Administer) != nil {
		return nil, nil
	}
	was, err = tx.RepairOrder(id, func(category, brand string) order.Classification {
		return classify(s.Catalog(), catalog.Context{Category: category, Brand: brand})
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // which lockOrder says in its words
	}
	return was, err
}

// UnreadableOrder returns what can be told of an order to the administrator who is to end it. cause is why the order
// cannot be shown, and the error where that is something else, or the order has ended.
func (s *Service) UnreadableOrder(ctx context.Context, actor access.Actor, cause error) (*order.Order, error) {
	broken, ok := errors.AsType[*store.UnreadableOrder](cause)
	if !ok || actor.Require(access.Administer) != nil {
		return nil, cause
	}
	o, err := s.store.OrderColumns(ctx, broken.ID)
	if err != nil {
		return nil, err
	}
	if o.CheckMove(order.Cancel, actor) != nil {
		return nil, cause
	}
	s.log.ErrorContext(ctx, "an order cannot be read", "order", broken.ID, "error", cause)
	return o, nil
}
