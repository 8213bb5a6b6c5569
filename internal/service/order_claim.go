package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// TakeNextOrder claims the queued Live order with the earliest due date in a part of the queue for a staff user; nil
// when there is none. Two callers never get the same order.
func (s *Service) TakeNextOrder(ctx context.Context, actor access.Actor, part order.QueueFilter) (*OrderRecord, error) {
	var unreadable []string
	for {
		r, err := s.takeNext(ctx, actor, part, unreadable)
		broken, ok := errors.AsType[*store.UnreadableOrder](err)
		if !ok || len(unreadable) == mostUnreadable {
			return r, err
		}
		s.log.ErrorContext(ctx, "an order in the queue cannot be read, and is passed over", "order", broken.ID, "error", err)
		unreadable = append(unreadable, broken.ID)
	}
}

// mostUnreadable is how many orders that cannot be read are passed over for the next one.
const mostUnreadable = 20

var errEmptyQueue = errors.New("the queue is empty")

// takeNext gives a staff user the next order that is none of unless.
func (s *Service) takeNext(
	ctx context.Context, actor access.Actor, part order.QueueFilter, unless []string,
) (*OrderRecord, error) {
	next := func(tx *store.Tx) (*order.Order, error) {
		id, err := tx.NextQueued(part, unless)
		if errors.Is(err, store.ErrNotFound) {
			return nil, errEmptyQueue
		}
		if err != nil {
			return nil, err
		}
		return tx.OrderForUpdate(id)
	}
	r, err := s.reviewLocked(ctx, actor, next, func(tx *store.Tx, o *order.Order, now time.Time) error {
		return s.claim(ctx, tx, actor, o, now)
	})
	if errors.Is(err, errEmptyQueue) {
		return nil, nil // which is no error
	}
	return r, err
}

// ClaimOrder gives a queued order to a staff user. Whoever holds it already keeps it, and the claim has activity.
func (s *Service) ClaimOrder(ctx context.Context, actor access.Actor, id string) (*OrderRecord, error) {
	return s.reviewOrder(ctx, actor, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		if o.HeldBy(actor) && o.Environment == access.Live {
			return tx.TouchClaim(o.ID, actor.ID, now, now.Add(-s.activityGap()))
		}
		return s.claim(ctx, tx, actor, o, now)
	})
}

func (s *Service) claim(ctx context.Context, tx *store.Tx, actor access.Actor, o *order.Order, now time.Time) error {
	if err := checkMove(tx, o, order.Claim, actor); err != nil {
		return err
	}
	if err := checkActive(tx, actor); err != nil {
		return err
	}
	if err := s.checkClaims(tx, actor); err != nil {
		return err
	}
	if err := o.ClaimFor(actor.ID, now); err != nil {
		return err
	}
	return s.saveMove(ctx, tx, o, actor, nil)
}

// checkActive checks that nobody has deactivated the staff user since the request began: an order of somebody who has
// left would wait for its claim to expire.
func checkActive(tx *store.Tx, actor access.Actor) error {
	current, err := tx.StaffForUpdate(actor.ID)
	if err == nil && !current.Active() {
		return access.StaffUnauthenticated
	}
	return err
}

// checkClaims refuses a further order to who holds as many as one person may. The row of the staff user is locked, so
// that nobody takes two at the same moment. Orders that come back with photos or that an administrator assigns arrive
// whatever somebody holds; they count when the next one is taken.
func (s *Service) checkClaims(tx *store.Tx, actor access.Actor) error {
	limit := s.limits.Claims
	if actor.Token {
		limit = s.limits.TokenClaims
	}
	if limit <= 0 {
		return nil
	}
	held, err := tx.CountClaims(tx.Context(), actor.ID)
	if err != nil || held < limit {
		return err
	}
	return ClaimLimitReached.With("limit", limit)
}

// ClaimLimitReached is the refusal of a further order to who holds as many as they may.
var ClaimLimitReached = fault.New(fault.Conflict, "claim-limit-reached",
	"You hold as many orders as one person may. Complete or release one first.")

// ReleaseOrder puts an order back into the queue.
func (s *Service) ReleaseOrder(ctx context.Context, actor access.Actor, id string) (*OrderRecord, error) {
	apply := func(_ *store.Tx, o *order.Order, now time.Time) (map[string]any, error) {
		return nil, o.Apply(order.Release, now)
	}
	return s.reviewMove(ctx, actor, id, order.Release, "", apply)
}

// ReassignOrder gives an order that is queued or held by anybody to another staff user.
func (s *Service) ReassignOrder(ctx context.Context, actor access.Actor, id, toStaffID string) (*OrderRecord, error) {
	if err := actor.Require(access.Administer); err != nil {
		return nil, err
	}
	return s.reviewOrder(ctx, actor, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		to, err := tx.StaffForUpdate(toStaffID)
		if errors.Is(err, store.ErrNotFound) || err == nil && !to.Active() {
			return fault.InvalidField("assignee_id", "unknown", "is not the id of an active staff user")
		}
		if err != nil {
			return err
		}
		details := map[string]any{"assignee": staffDetail(to)}
		if err := s.recordStaffAction(tx, actor, orderAction(audit.OrderReassigned, o, details)); err != nil {
			return err
		}
		if o.Status != order.Processing || o.Environment != access.Live {
			if err := checkMove(tx, o, order.Claim, actor); err != nil {
				return err
			}
			if err := o.ClaimFor(to.ID, now); err != nil {
				return err
			}
			return s.saveMove(ctx, tx, o, actor, details)
		}
		o.AssignTo(to.ID, now)
		o.UpdatedAt = now
		if err := tx.UpdateOrder(o); err != nil {
			return err
		}
		entry := &order.TimelineEntry{At: now, Event: order.EventReassigned, Actor: actor, Details: details}
		return tx.AppendTimeline(o.ID, entry)
	})
}

// returnToQueue releases an order for a reason of the service's own, if somebody still holds it and still is true of
// it.
func (s *Service) returnToQueue(
	ctx context.Context, id, reason string, still func(*order.Order) bool,
) (returned bool, err error) {
	_, err = s.moveOrder(ctx, access.System, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
		returned = o.Status == order.Processing && still(o)
		if !returned {
			return nil
		}
		return s.release(ctx, tx, o, reason, now)
	})
	return returned && err == nil, err
}

// release puts an order back into the queue for a reason of the service's own.
func (s *Service) release(ctx context.Context, tx *store.Tx, o *order.Order, reason string, now time.Time) error {
	details := map[string]any{"reason": reason}
	holder, err := assigneeOf(ctx, tx.Queries, o)
	if err != nil {
		return err
	}
	if holder != nil {
		details["assignee"] = staffDetail(holder)
	}
	if err := o.Apply(order.Release, now); err != nil {
		return err
	}
	return s.saveMove(ctx, tx, o, access.System, details)
}

// ExpirePhotoRequests ends the Live orders whose photo request has had no answer since the time: they complete as
// unable to verify. It reads limit of them at a time and returns how many it ended.
func (s *Service) ExpirePhotoRequests(ctx context.Context, since time.Time, limit int) (int, error) {
	return eachOrder(ctx, s.store.UnansweredOrders, since, limit, func(id string) (ended bool, err error) {
		_, err = s.moveOrder(ctx, access.System, id, func(tx *store.Tx, o *order.Order, now time.Time) error {
			ended = o.Status == order.UpdatePhotos && !o.UpdatedAt.After(since) // else it was answered meanwhile
			if !ended {
				return nil
			}
			if err := o.Apply(order.Expire, now); err != nil {
				return err
			}
			o.Outcome = order.UnableToVerify
			return s.saveMove(ctx, tx, o, access.System, map[string]any{"reason": "photo request expired"})
		})
		return ended && err == nil, err
	})
}

// ExpireClaims returns the orders to the queue whose assignee has done nothing since the time. It reads limit of them
// at a time and returns how many there were.
func (s *Service) ExpireClaims(ctx context.Context, since time.Time, limit int) (int, error) {
	idle := func(o *order.Order) bool { return o.ClaimedAt == nil || !o.ClaimedAt.After(since) }
	return eachOrder(ctx, s.store.StaleClaims, since, limit, func(id string) (bool, error) {
		return s.returnToQueue(ctx, id, "claim expired", idle)
	})
}

// listFunc returns up to limit orders that stand behind another one in a list of those unchanged since a time.
type listFunc = func(ctx context.Context, since time.Time, after store.OrderAt, limit int) ([]store.OrderAt, error)

// eachOrder changes orders one by one, in batches, and returns how many were changed. One that fails stops neither its
// batch nor the next ones: the error names those that were skipped. It ends when the database is unavailable.
func eachOrder(
	ctx context.Context, list listFunc, since time.Time, limit int, change func(id string) (bool, error),
) (changed int, err error) {
	skipped := new(fault.Skipped)
	var after store.OrderAt
	for ctx.Err() == nil {
		orders, err := list(ctx, since, after, limit)
		if err != nil {
			return changed, errors.Join(skipped.OrNil(), err)
		}
		for _, o := range orders {
			ok, err := change(o.ID)
			if ok {
				changed++
			}
			if fault.KindOf(err) == fault.Unavailable {
				return changed, errors.Join(skipped.OrNil(), err)
			}
			if err != nil {
				skipped.Add(fmt.Errorf("order %s: %w", o.ID, err))
			}
		}
		if len(orders) < limit {
			break
		}
		after = orders[len(orders)-1]
	}
	return changed, skipped.OrNil()
}
