package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// Deliveries returns up to limit deliveries of all accounts that the filter chooses, newest first.
func (a *Administration) Deliveries(ctx context.Context, who *access.Staff, f store.DeliveryFilter, limit int) ([]*store.DeliveryRecord, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	return a.store().Deliveries(ctx, f, limit)
}

// Delivery returns a delivery with its body and the attempts that are still kept.
func (a *Administration) Delivery(ctx context.Context, who *access.Staff, id string) (*store.DeliveryRecord, []webhook.Attempt, error) {
	if err := a.allow(who); err != nil {
		return nil, nil, err
	}
	id, ok := store.ParseID(id)
	if !ok {
		return nil, nil, missing("delivery")
	}
	d, err := a.store().Delivery(ctx, id)
	if err != nil {
		return nil, nil, orMissing(err, "delivery")
	}
	attempts, err := a.store().Attempts(ctx, id)
	return d, attempts, err
}

// notRedeliverable is the refusal to send again what is on its way, or has nowhere to go.
var notRedeliverable = fault.New(fault.Conflict, "not-redeliverable",
	"The delivery is still pending, or its endpoint is deleted, or the endpoint's key is revoked.")

// Redeliver sends a delivery that has ended once more, under the same delivery id and with all attempts before it.
func (a *Administration) Redeliver(ctx context.Context, who *access.Staff, id string) error {
	d, _, err := a.Delivery(ctx, who, id)
	if err != nil {
		return err
	}
	err = a.store().Update(ctx, func(tx *store.Tx) error { return tx.Redeliver(d.ID, a.service.now()) })
	if errors.Is(err, store.ErrNotFound) {
		return notRedeliverable
	}
	if err != nil {
		return err
	}
	a.service.Outbox()
	a.done(ctx, who, "delivery sent again", "delivery_id", d.ID)
	return nil
}

// redeliverBatch is how many deliveries one transaction makes pending: others must not wait long for it.
const redeliverBatch = 100

// RedeliverFailed sends all deliveries again that failed at the time or later, of those that the filter chooses, and
// returns how many. Those whose endpoint gets nothing any more are passed over.
func (a *Administration) RedeliverFailed(ctx context.Context, who *access.Staff, f store.DeliveryFilter, since time.Time) (int, error) {
	if err := a.allow(who); err != nil {
		return 0, err
	}
	sent, after := 0, ""
	for {
		ids, err := a.store().FailedDeliveries(ctx, f, since, after, redeliverBatch)
		if err != nil || len(ids) == 0 {
			a.done(ctx, who, "failed deliveries sent again", "deliveries", sent)
			return sent, err
		}
		after = ids[len(ids)-1]
		n := 0
		if err := a.store().Update(ctx, func(tx *store.Tx) error {
			n = 0
			for _, id := range ids {
				err := tx.Redeliver(id, a.service.now())
				if errors.Is(err, store.ErrNotFound) {
					continue
				}
				if err != nil {
					return err
				}
				n++
			}
			return nil
		}); err != nil {
			return sent, err
		}
		sent += n
		a.service.Outbox()
	}
}
