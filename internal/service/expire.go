package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// ExpirePhotoRequests ends up to limit Live orders whose photo request has had no answer since the time: they complete
// as unable to verify. It returns how many it ended. An order that fails does not stop the others.
func (s *Service) ExpirePhotoRequests(ctx context.Context, since time.Time, limit int) (int, error) {
	ids, err := s.Store.UnansweredOrders(ctx, since, limit)
	if err != nil {
		return 0, err
	}
	ended := 0
	var failed error
	for _, id := range ids {
		err := s.Store.Update(ctx, func(tx *store.Tx) error {
			o, err := tx.OrderForUpdate(id)
			if err != nil {
				return err
			}
			if o.UpdatedAt.After(since) {
				return errAnswered
			}
			if err := o.Apply(order.Expire, s.now()); err != nil {
				return errAnswered
			}
			o.Outcome = order.UnableToVerify
			if err := tx.UpdateOrder(o); err != nil {
				return err
			}
			return s.recordMove(tx, o, order.System, map[string]any{"reason": "photo request expired"})
		})
		switch {
		case err == nil:
			ended++
		case !errors.Is(err, errAnswered):
			failed = errors.Join(failed, fmt.Errorf("order %s: %w", id, err))
		}
	}
	if ended > 0 {
		s.Outbox()
	}
	return ended, failed
}

// errAnswered says that the order was answered, or ended otherwise, after it was found.
var errAnswered = errors.New("answered meanwhile")
