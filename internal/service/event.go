package service

import (
	"context"
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/tracing"
)

// Events returns up to limit events of the orders that a key has created, oldest first, and the cursor after them:
// those that follow a cursor, or with nil the oldest that are kept. It returns webhook.CursorExpired for a cursor after
// which events are gone, and webhook.CursorUnknown for one that was never given out.
func (s *Service) Events(
	ctx context.Context, actor access.Actor, after *webhook.Cursor, limit int,
) (events []*webhook.OrderEvent, next webhook.Cursor, err error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, 0, err
	}
	if after != nil {
		next = *after
	}
	events, gone, err := s.keptEvents(ctx, actor.ID, next, limit)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case after == nil && len(events) == 0:
		return nil, gone, nil
	case after != nil && next < gone:
		return nil, 0, webhook.CursorExpired(gone)
	case len(events) > 0:
		return events, events[len(events)-1].Position, nil
	}
	last, err := s.store.LastEvent(ctx, actor.Tenant)
	if err == nil && next > last {
		err = webhook.CursorUnknown(gone)
	}
	return nil, next, err
}

// keptEvents returns the events of a key after a position, and the position of the last one that is not kept any more,
// which they follow. Rows may outlast what is promised: PostgreSQL drops them by the week.
func (s *Service) keptEvents(
	ctx context.Context, keyID string, after webhook.Cursor, limit int,
) (events []*webhook.OrderEvent, gone webhook.Cursor, err error) {
	if events, err = s.store.Events(ctx, keyID, after, limit); err != nil {
		return nil, 0, err
	}
	var outlasted webhook.Cursor
	before := s.now().Add(-s.eventAge)
	if s.eventAge != 0 && len(events) > 0 && events[0].CreatedAt.Before(before) {
		if outlasted, err = s.store.LastEventBefore(ctx, keyID, before); err != nil {
			return nil, 0, err
		}
		if events, err = s.store.Events(ctx, keyID, max(after, outlasted), limit); err != nil {
			return nil, 0, err
		}
	}
	// Read after the events: what is deleted meanwhile is not passed over in silence.
	gone, err = s.store.EventsGone(ctx, keyID)
	return events, max(gone, outlasted), err
}

// eventOf returns the event that endpoints get when an order has come into its status. The error state sends none.
func eventOf(s order.Status) (webhook.Event, bool) {
	switch s {
	case order.Completed:
		return webhook.OrderOutcome, true
	case order.UpdatePhotos:
		return webhook.UpdatePhotos, true
	case order.Queued, order.Processing, order.Failed:
	}
	return "", false
}

// emitEvent stores the event, and puts one delivery for each endpoint that wants it into the outbox. The deliveries
// belong to the trace in ctx, the context of the request: that of the transaction has none, or another request's.
func (s *Service) emitEvent(ctx context.Context, tx *store.Tx, o *order.Order) error {
	event, ok := eventOf(o.Status)
	if !ok {
		return nil
	}
	endpoints, err := tx.ReceivingEndpoints(ctx, o.APIKeyID)
	if err != nil {
		return err
	}
	account, err := tx.Account(ctx, o.AccountID)
	if err != nil {
		return err
	}
	detail := o.View(account.Locale, o.UpdatedAt, s.CertificateURL)
	happened := &webhook.OrderEvent{
		Tenant: o.Tenant(), APIKeyID: o.APIKeyID, OrderID: o.ID, Event: event, CreatedAt: o.UpdatedAt,
	}
	if happened.Body, err = eventBody(o, event, "", &detail); err != nil {
		return err
	}
	for _, e := range endpoints {
		if !e.Wants(event) {
			continue
		}
		d, err := newDelivery(o, event, &detail)
		if err != nil {
			return err
		}
		d.Trace = tracing.Parent(ctx)
		if o.Environment == access.Test {
			d.NextAttemptAt = d.CreatedAt.Add(s.testDelay)
		}
		if err := tx.InsertDelivery(d, e); err != nil {
			return err
		}
		happened.DeliveryIDs = append(happened.DeliveryIDs, d.ID)
	}
	return tx.InsertEvent(happened) // last, because it locks a row that all orders of the account change
}

// payload is the body of an event, and with its id that of a delivery: the order as it is at the moment of the event.
type payload struct {
	WebhookEvent webhook.Event   `json:"webhook_event"`
	DeliveryID   string          `json:"delivery_id,omitempty"`
	ExternalID   *string         `json:"external_id"`
	OrderNumber  *string         `json:"order_number"`
	CreatedAt    *wire.Timestamp `json:"created_at"`
	*order.Detail
}

// newDelivery returns a delivery of an event of an order, with the exact bytes to send.
func newDelivery(o *order.Order, event webhook.Event, detail *order.Detail) (*webhook.Delivery, error) {
	d := &webhook.Delivery{ID: uuid7.NewAt(o.UpdatedAt), OrderID: o.ID, Event: event, CreatedAt: o.UpdatedAt}
	var err error
	d.Body, err = eventBody(o, event, d.ID, detail)
	return d, err
}

func eventBody(o *order.Order, event webhook.Event, deliveryID string, detail *order.Detail) ([]byte, error) {
	return json.Marshal(&payload{
		WebhookEvent: event, DeliveryID: deliveryID, ExternalID: o.ExternalID, OrderNumber: &o.Number,
		CreatedAt: new(wire.Timestamp(o.UpdatedAt)), Detail: detail,
	})
}
