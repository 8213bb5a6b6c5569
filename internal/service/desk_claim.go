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

// TakeNextOrder claims the queued Live order with the earliest due date for a staff user; nil when there is none. Two
// callers never get the same order.
func (s *Service) TakeNextOrder(ctx context.Context, who *access.Staff) (*DeskOrder, error) {
	d, err := s.changeOrder(ctx, (*store.Tx).NextQueued, s.claim(who))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // an empty queue is no error
	}
	return d, err
}

// ClaimOrder gives a queued order to a staff user. One's own order stays one's own, and the claim has activity.
func (s *Service) ClaimOrder(ctx context.Context, who *access.Staff, id string) (*DeskOrder, error) {
	return s.atDesk(ctx, id, s.claim(who))
}

func (s *Service) claim(who *access.Staff) change {
	return func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
		if o.HeldBy(who) && o.Environment == access.Live {
			return tx.TouchClaim(o.ID, who.ID, now, now.Add(-activityGap))
		}
		if err := checkMove(ctx, tx, o, order.Claim, who); err != nil {
			return err
		}
		if err := s.checkActive(tx, who); err != nil {
			return err
		}
		if err := o.Apply(order.Claim, now); err != nil {
			return err
		}
		o.AssignTo(who.ID, now)
		return s.storeMove(tx, o, staffActor(who), nil)
	}
}

// checkActive holds that nobody has deactivated the staff user since the request began: an order in the hands of
// somebody who is gone would wait for its claim to expire.
func (s *Service) checkActive(tx *store.Tx, who *access.Staff) error {
	current, err := tx.StaffForUpdate(who.ID)
	if err == nil && !current.Active() {
		return access.StaffUnauthenticated
	}
	return err
}

// ReleaseOrder puts an order back into the queue.
func (s *Service) ReleaseOrder(ctx context.Context, who *access.Staff, id string) (*DeskOrder, error) {
	return s.atDesk(ctx, id, func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
		if err := checkMove(ctx, tx, o, order.Release, who); err != nil {
			return err
		}
		if err := o.Apply(order.Release, now); err != nil {
			return err
		}
		return s.storeMove(tx, o, staffActor(who), nil)
	})
}

// ReassignOrder puts an order that is queued or in anybody's hands into those of another staff user. Only an
// administrator may.
func (s *Service) ReassignOrder(ctx context.Context, who *access.Staff, id, toStaffID string) (*DeskOrder, error) {
	if !who.Allows(access.Admin) {
		return nil, access.MissingRole(access.Admin)
	}
	return s.atDesk(ctx, id, func(ctx context.Context, tx *store.Tx, o *order.Order, now time.Time) error {
		to, err := tx.StaffForUpdate(toStaffID)
		if errors.Is(err, store.ErrNotFound) || err == nil && !to.Active() {
			return fault.Validation(fault.Problem{Field: "assignee_id", Code: "unknown", Message: "is not the id of an active staff user"})
		}
		if err != nil {
			return err
		}
		details := map[string]any{"assignee": staffDetail(to)}
		if err := s.did(byStaff(ctx, who), tx, onOrder(audit.OrderReassigned, o, details)); err != nil {
			return err
		}
		if o.Status == order.Processing && o.Environment == access.Live {
			o.AssignTo(to.ID, now)
			o.UpdatedAt = now
			if err := tx.UpdateOrder(o); err != nil {
				return err
			}
			return tx.AppendTimeline(o.ID, &store.TimelineEntry{At: now, Event: "reassigned", Actor: staffActor(who), Details: details})
		}
		if err := checkMove(ctx, tx, o, order.Claim, who); err != nil {
			return err
		}
		if err := o.Apply(order.Claim, now); err != nil {
			return err
		}
		o.AssignTo(to.ID, now)
		return s.storeMove(tx, o, staffActor(who), details)
	})
}

// ExpireClaims returns up to limit orders to the queue whose assignee has done nothing since the time, and returns how
// many there were. An order that fails does not stop the others.
func (s *Service) ExpireClaims(ctx context.Context, since time.Time, limit int) (int, error) {
	ids, err := s.Store.StaleClaims(ctx, since, limit)
	if err != nil {
		return 0, err
	}
	expired := 0
	var failed error
	for _, id := range ids {
		idle := func(o *order.Order) bool { return o.ClaimedAt == nil || !o.ClaimedAt.After(since) }
		returned, err := s.returnToQueue(ctx, id, "claim expired", idle)
		switch {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("order %s: %w", id, err))
		case returned:
			expired++
		}
	}
	return expired, failed
}

// returnToQueue releases an order for a reason of the service's own, if it is still in somebody's hands and the condition
// still holds.
func (s *Service) returnToQueue(ctx context.Context, id, reason string, still func(*order.Order) bool) (returned bool, err error) {
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		returned = false
		o, err := tx.OrderForUpdate(id)
		if err != nil || o.Status != order.Processing || !still(o) {
			return err
		}
		details, err := releaseDetails(ctx, tx, o, reason)
		if err != nil {
			return err
		}
		if err := o.Apply(order.Release, s.now()); err != nil {
			return err
		}
		returned = true
		return s.storeMove(tx, o, order.System, details)
	})
	return returned, err
}

// releaseDetails tells the timeline why the service has taken an order out of somebody's hands, and out of whose.
func releaseDetails(ctx context.Context, tx *store.Tx, o *order.Order, reason string) (map[string]any, error) {
	details := map[string]any{"reason": reason}
	holder, err := assigneeOf(context.WithoutCancel(ctx), tx.Queries, o)
	if holder != nil {
		details["assignee"] = staffDetail(holder)
	}
	return details, err
}
