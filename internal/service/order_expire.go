package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// ExpirePhotoRequests ends up to limit Live orders whose photo request has had no answer since the time: they complete
// as unable to verify. It returns how many it ended.
func (s *Service) ExpirePhotoRequests(ctx context.Context, since time.Time, limit int) (int, error) {
	ids, err := s.store.UnansweredOrders(ctx, since, limit)
	if err != nil {
		return 0, err
	}
	return eachOrder(ids, func(id string) (ended bool, err error) {
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

// ExpireClaims returns up to limit orders to the queue whose assignee has done nothing since the time, and returns how
// many there were.
func (s *Service) ExpireClaims(ctx context.Context, since time.Time, limit int) (int, error) {
	ids, err := s.store.StaleClaims(ctx, since, limit)
	if err != nil {
		return 0, err
	}
	idle := func(o *order.Order) bool { return o.ClaimedAt == nil || !o.ClaimedAt.After(since) }
	return eachOrder(ids, func(id string) (bool, error) { return s.returnToQueue(ctx, id, "claim expired", idle) })
}

// eachOrder changes orders one by one and returns how many were changed. One that fails does not stop the others.
func eachOrder(ids []string, change func(id string) (bool, error)) (changed int, failed error) {
	for _, id := range ids {
		ok, err := change(id)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("order %s: %w", id, err))
		}
		if ok {
			changed++
		}
	}
	return changed, failed
}
