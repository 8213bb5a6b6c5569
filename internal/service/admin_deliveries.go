package service

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// Deliveries returns up to limit deliveries of all accounts that the filter chooses, newest first.
func (a *Administration) Deliveries(ctx context.Context, who *access.Staff, f store.DeliveryFilter, limit int) ([]*store.DeliveryRecord, error) {
	if err := a.allow(who); err != nil {
		return nil, err
	}
	return a.service.Deliveries(ctx, f, limit)
}

// Delivery returns a delivery with its body and the attempts that are still kept.
func (a *Administration) Delivery(ctx context.Context, who *access.Staff, id string) (*store.DeliveryRecord, []webhook.Attempt, error) {
	if err := a.allow(who); err != nil {
		return nil, nil, err
	}
	return a.service.Delivery(ctx, id)
}

// Redeliver sends a delivery that has ended once more, under the same delivery id and with all attempts before it.
func (a *Administration) Redeliver(ctx context.Context, who *access.Staff, id string) error {
	d, _, err := a.Delivery(ctx, who, id)
	if err != nil {
		return err
	}
	return a.service.Redeliver(byStaff(ctx, who), d)
}

// RedeliverFailed sends all deliveries again that failed at the time or later, of those that the filter chooses, and
// returns how many. Those whose endpoint gets nothing any more are passed over.
func (a *Administration) RedeliverFailed(ctx context.Context, who *access.Staff, f store.DeliveryFilter, since time.Time) (int, error) {
	if err := a.allow(who); err != nil {
		return 0, err
	}
	return a.service.RedeliverFailed(byStaff(ctx, who), f, since)
}
