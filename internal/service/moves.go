package service

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// timelineEvents names what the timeline says of an order that has come into a status.
var timelineEvents = map[order.Status]string{
	order.Queued:       "released",
	order.Processing:   "claimed",
	order.UpdatePhotos: "photos-requested",
	order.Completed:    "completed",
	order.Failed:       "failed",
}

// recordMove writes what follows from a move whose row is written: the timeline entry, the refund where one is due, the
// count of a result, the certificate of an authentic item, and the events for the endpoints of the order's key. It runs in
// the transaction of the move.
func (s *Service) recordMove(tx *store.Tx, o *order.Order, actor order.Actor, details map[string]any) error {
	event := timelineEvents[o.Status]
	if o.Outcome != "" {
		all := map[string]any{"outcome": string(o.Outcome)}
		for k, v := range details {
			all[k] = v
		}
		details = all
	}
	if err := tx.AppendTimeline(o.ID, &store.TimelineEntry{At: o.UpdatedAt, Event: event, Actor: actor, Details: details}); err != nil {
		return err
	}
	if o.Status == order.Failed || o.Outcome == order.Canceled {
		if err := tx.RefundOrder(o.ID, "order "+o.Number+" "+event, o.UpdatedAt); err != nil {
			return err
		}
	}
	return s.follow(tx, o)
}

// follow writes what every move brings about, whoever made it: the count of a result, the certificate of an authentic item,
// and the events.
func (s *Service) follow(tx *store.Tx, o *order.Order) error {
	if o.EndedAt != nil {
		if err := tx.CountResult(o, bucketOfResult(o)); err != nil {
			return err
		}
	}
	if err := s.certify(tx, o); err != nil {
		return err
	}
	return s.emit(tx, o)
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

// payload is the body of a delivery: the order as it is at the moment of the event.
type payload struct {
	WebhookEvent webhook.Event    `json:"webhook_event"`
	DeliveryID   string           `json:"delivery_id"`
	ExternalID   *string          `json:"external_id"`
	OrderNumber  *string          `json:"order_number"`
	CreatedAt    *order.Timestamp `json:"created_at"`
	order.Detail
}

// emit puts one delivery for each endpoint that wants the event into the outbox, with the exact bytes to send.
func (s *Service) emit(tx *store.Tx, o *order.Order) error {
	event, ok := eventOf(o.Status)
	if !ok {
		return nil
	}
	ctx := context.Background()
	endpoints, err := tx.ReceivingEndpoints(ctx, o.APIKeyID)
	if err != nil || len(endpoints) == 0 {
		return err
	}
	account, err := tx.Account(ctx, o.AccountID)
	if err != nil {
		return err
	}
	p := payload{
		WebhookEvent: event, ExternalID: o.ExternalID, OrderNumber: &o.Number, CreatedAt: order.At(&o.UpdatedAt),
		Detail: o.View(account.Locale, o.UpdatedAt, s.CertificateURL),
	}
	for _, e := range endpoints {
		if !e.Wants(event) {
			continue
		}
		p.DeliveryID = store.NewID()
		body, err := json.Marshal(&p)
		if err != nil {
			return err
		}
		d := &webhook.Delivery{ID: p.DeliveryID, OrderID: o.ID, Event: event, Body: body, CreatedAt: o.UpdatedAt}
		if err := tx.InsertDelivery(d, e); err != nil {
			return err
		}
	}
	return nil
}

// orderNotFound turns a missing row into what the caller is told.
func orderNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return order.NotFound
	}
	return err
}
