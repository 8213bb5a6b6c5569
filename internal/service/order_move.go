package service

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/statistics"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// moveFunc checks and changes an order, which is locked, and stores it: most do so with saveMove.
type moveFunc func(tx *store.Tx, o *order.Order, now time.Time) error

// lockFunc returns an order for a change.
type lockFunc func(tx *store.Tx) (*order.Order, error)

// moveOrder runs a move of an order that the actor can reach as one transaction. It returns the order as it is after.
func (s *Service) moveOrder(ctx context.Context, actor access.Actor, id string, move moveFunc) (*order.Order, error) {
	return s.moveLocked(ctx, lockOrder(actor, id), move)
}

// moveLocked is moveOrder for the order that lock returns.
func (s *Service) moveLocked(ctx context.Context, lock lockFunc, move moveFunc) (*order.Order, error) {
	var o *order.Order
	err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		if o, err = lock(tx); err != nil {
			return err
		}
		return move(tx, o, s.now())
	})
	if err != nil {
		return nil, err
	}
	if _, sends := eventOf(o.Status); sends {
		s.onDeliveries()
	}
	return o, nil
}

// lockOrder locks the order that the actor means. Keys and account users reach the orders of their tenant only; a key
// may name an order by its external id.
func lockOrder(actor access.Actor, id string) lockFunc {
	return func(tx *store.Tx) (*order.Order, error) {
		if actor.Kind != access.ByAPIKey {
			return reachableOrder(actor, id, tx.OrderForUpdate)
		}
		found, err := tx.FindOrder(tx.Context(), actor.Tenant, id)
		if err != nil {
			return nil, orderNotFound(actor, err)
		}
		return tx.OrderForUpdate(found.ID)
	}
}

// reachableOrder reads the order with an id, of the actor's tenant where the actor is an account user.
func reachableOrder(actor access.Actor, id string, read func(string) (*order.Order, error)) (*order.Order, error) {
	id, ok := uuid7.Parse(id)
	if !ok {
		return nil, orderNotFound(actor, store.ErrNotFound)
	}
	o, err := read(id)
	if err == nil && actor.Kind == access.ByUser && o.Tenant() != actor.Tenant {
		err = store.ErrNotFound
	}
	return o, orderNotFound(actor, err)
}

// noSuchOrder is order.NotFound in the words that fit the actor.
var noSuchOrder = map[access.ActorKind]error{
	access.ByAPIKey: order.NotFound,
	access.ByUser:   fault.New(fault.NotFound, order.NotFound.Code, "There is no such order in this environment."),
	access.ByStaff:  fault.New(fault.NotFound, order.NotFound.Code, "There is no such order."),
}

// orderNotFound turns a missing row into what the actor is told.
func orderNotFound(actor access.Actor, err error) error {
	if refusal := noSuchOrder[actor.Kind]; refusal != nil && errors.Is(err, store.ErrNotFound) {
		return refusal
	}
	return err
}

// checkMove checks that the actor may make the move, and names the assignee where somebody else holds the order.
func checkMove(tx *store.Tx, o *order.Order, move order.Move, actor access.Actor) error {
	err := o.CheckMove(move, actor)
	if !errors.Is(err, order.Claimed) {
		return err
	}
	assignee, lookup := assigneeOf(tx.Context(), tx.Queries, o)
	if lookup != nil || assignee == nil {
		return cmp.Or(lookup, err)
	}
	return order.Claimed.With("assignee", staffDetail(assignee))
}

// timelineEvents names what the timeline says of an order that has come into a status.
var timelineEvents = map[order.Status]string{
	order.Queued:       order.EventReleased,
	order.Processing:   order.EventClaimed,
	order.UpdatePhotos: order.EventPhotosRequested,
	order.Completed:    order.EventCompleted,
	order.Failed:       order.EventFailed,
}

// saveMove stores an order that has been moved, with all that follows from the move; ctx is that of the request, for
// emitEvent.
func (s *Service) saveMove(
	ctx context.Context, tx *store.Tx, o *order.Order, actor access.Actor, details map[string]any,
) error {
	if err := tx.UpdateOrder(o); err != nil {
		return err
	}
	if o.Environment == access.Test { // it may be moved out of a result, whose certificate then ends
		if err := tx.RevokeCertificatesOf(o.ID, o.CertificateID, supersededReason, o.UpdatedAt); err != nil {
			return err
		}
	}
	if o.EndedAt != nil && o.Environment == access.Live {
		if err := tx.DeleteVerdictDrafts(o.ID, o.AssigneeID); err != nil {
			return err
		}
	}
	return s.afterMove(ctx, tx, o, actor, details)
}

// afterMove writes what follows from a move whose row is stored: the timeline entry, the refund where one is due, the
// certificate of an authentic item, the events for the endpoints of the order's key, and the count of a result.
func (s *Service) afterMove(
	ctx context.Context, tx *store.Tx, o *order.Order, actor access.Actor, details map[string]any,
) error {
	event := timelineEvents[o.Status]
	if o.Outcome != "" {
		details = withDetail(maps.Clone(details), "outcome", string(o.Outcome))
	}
	entry := &order.TimelineEntry{At: o.UpdatedAt, Event: event, Actor: actor, Details: details}
	if err := tx.AppendTimeline(o.ID, entry); err != nil {
		return err
	}
	if o.Status == order.Failed || o.Outcome == order.Canceled {
		if err := refund(tx, o, event); err != nil {
			return err
		}
	}
	if err := s.issueCertificate(tx, o); err != nil {
		return err
	}
	if err := s.emitEvent(ctx, tx, o); err != nil {
		return err
	}
	if err := tx.KeepReusedPhotos(o); err != nil || o.EndedAt == nil {
		return err
	}
	return tx.CountResult(o, statistics.ResultBucket(o)) // last: see there
}

// refund gives the price of an order back. A Test order may have been refunded by an earlier simulation: it is refunded
// once.
func refund(tx *store.Tx, o *order.Order, event string) error {
	if o.Environment == access.Test {
		if refunded, err := tx.Refunded(tx.Context(), o.ID); err != nil || refunded {
			return err
		}
	}
	return tx.RefundOrder(o.ID, "order "+o.Number+" "+event, o.UpdatedAt)
}

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
		return errors.Join(s.record(tx, actor, orderEvent(audit.OrderCancel, o, nil)),
			s.recordStaffAction(tx, actor, orderAction(audit.OrderCanceled, o, withNote(nil, note))))
	})
}

// endOrder ends an order without a verdict, and calls after in the same transaction. An administrator ends one that
// cannot be read, too: the customer waits for an answer that nobody can give. What was there stays in the timeline.
func (s *Service) endOrder(
	ctx context.Context, actor access.Actor, id string, move order.Move, note string,
	after func(*store.Tx, *order.Order) error,
) (*order.Order, error) {
	var was map[string]string
	lock := func(tx *store.Tx) (_ *order.Order, err error) {
		if was, err = s.repairOrder(tx, actor, id); err != nil {
			return nil, err
		}
		return lockOrder(actor, id)(tx)
	}
	o, err := s.moveLocked(ctx, lock, func(tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(tx, o, move, actor); err != nil {
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
			details = withDetail(details, "unreadable", was)
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
	id, ok := uuid7.Parse(id)
	if !ok || actor.Require(access.Administer) != nil {
		return nil, nil
	}
	was, err = tx.RepairOrder(id, func(category, brand string) order.Classification {
		return classify(s.Catalog(), catalog.Context{Category: category, Brand: brand})
	})
	return was, store.IgnoreNotFound(err) // which lockOrder says in its words
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
