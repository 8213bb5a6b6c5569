package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
)

// ExpirePhotoRequests ends up to limit Live orders whose photo request has had no answer since the time: they complete
// as unable to verify. It returns how many it ended.
func (s *Service) ExpirePhotoRequests(ctx context.Context, since time.Time, limit int) (int, error) {
	ids, err := s.Store.UnansweredOrders(ctx, since, limit)
	if err != nil {
		return 0, err
	}
	ended := 0
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
			return ended, err
		}
	}
	if ended > 0 {
		s.Outbox()
	}
	return ended, nil
}

// errAnswered says that the order was answered, or ended otherwise, after it was found.
var errAnswered = errors.New("answered meanwhile")
