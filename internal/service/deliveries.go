package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// DeliveryNotFound is the refusal of a delivery that does not exist for the caller.
var DeliveryNotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such delivery.").With("entity", "delivery")

// notRedeliverable is the refusal to send again what is on its way, or has nowhere to go.
var notRedeliverable = fault.New(fault.Conflict, "not-redeliverable",
	"The delivery is still pending, or its endpoint is deleted, or the endpoint's key is revoked.")

// Deliveries returns up to limit deliveries that the filter chooses, newest first.
func (s *Service) Deliveries(ctx context.Context, f store.DeliveryFilter, limit int) ([]*store.DeliveryRecord, error) {
	return s.Store.Deliveries(ctx, f, limit)
}

// Delivery returns a delivery with its body and the attempts that are still kept.
func (s *Service) Delivery(ctx context.Context, id string) (*store.DeliveryRecord, []webhook.Attempt, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, nil, DeliveryNotFound
	}
	d, err := s.Store.Delivery(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, DeliveryNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	attempts, err := s.Store.Attempts(ctx, id)
	return d, attempts, err
}

// Redeliver sends a delivery that has ended once more, under the same delivery id and with all attempts before it.
func (s *Service) Redeliver(ctx context.Context, d *store.DeliveryRecord) error {
	err := s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.Redeliver(d.ID, s.now()); err != nil {
			return err
		}
		return s.did(ctx, tx, audit.Action{
			Code: audit.DeliveryRedelivered, AccountID: d.AccountID, Target: audit.ActionTarget{Type: audit.OfDelivery, ID: d.ID, Name: string(d.Event)},
		})
	})
	if errors.Is(err, store.ErrNotFound) {
		return notRedeliverable
	}
	if err == nil {
		s.Outbox()
	}
	return err
}

// redeliverBatch is how many deliveries one transaction makes pending: others must not wait long for it.
const redeliverBatch = 100

// RedeliverFailed sends all deliveries again that failed at the time or later, of those that the filter chooses, and
// returns how many. Those whose endpoint gets nothing any more are passed over.
func (s *Service) RedeliverFailed(ctx context.Context, f store.DeliveryFilter, since time.Time) (sent int, err error) {
	for after := ""; ; {
		ids, err := s.Store.FailedDeliveries(ctx, f, since, after, redeliverBatch)
		if err != nil || len(ids) == 0 {
			return sent, err
		}
		after = ids[len(ids)-1]
		n, err := s.redeliverAll(ctx, f.AccountID, ids)
		if err != nil {
			return sent, err
		}
		sent += n
		s.Outbox()
	}
}

func (s *Service) redeliverAll(ctx context.Context, accountID string, ids []string) (n int, err error) {
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		n = 0
		for _, id := range ids {
			switch err := tx.Redeliver(id, s.now()); {
			case err == nil:
				n++
			case !errors.Is(err, store.ErrNotFound):
				return err
			}
		}
		if n == 0 {
			return nil
		}
		return s.did(ctx, tx, audit.Action{
			Code: audit.DeliveriesRedelivered, AccountID: accountID, Target: audit.ActionTarget{Type: audit.OfDelivery}, Details: map[string]any{"deliveries": n},
		})
	})
	return n, err
}

// ForgetAttempts removes up to limit delivery attempts from before the time from the log, and returns how many.
func (s *Service) ForgetAttempts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if some, err := s.Store.HasAttempts(ctx, before); err != nil || !some {
		return 0, err
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.PruneAttempts(before, limit)
		return err
	})
	return n, err
}
