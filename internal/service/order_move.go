package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/tracing"
)

// moveFunc checks and changes an order, which is locked, and stores it: most do so with saveMove.
type moveFunc func(tx *store.Tx, o *order.Order, now time.Time) error

// lockFunc returns the order that the actor means, for a change.
type lockFunc func(ctx context.Context, tx *store.Tx, actor access.Actor, id string) (*order.Order, error)

// moveOrder runs a move of an order that the actor can reach as one transaction. It returns the order as it is after.
func (s *Service) moveOrder(ctx context.Context, actor access.Actor, id string, move moveFunc) (*order.Order, error) {
	return s.moveLocked(ctx, actor, id, lockOrder, move)
}

func (s *Service) moveLocked(
	ctx context.Context, actor access.Actor, id string, lock lockFunc, move moveFunc,
) (*order.Order, error) {
	var o *order.Order
	err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		if o, err = lock(ctx, tx, actor, id); err != nil {
			return err
		}
		return move(tx, o, s.now())
	})
	if err != nil {
		return nil, err
	}
	if _, sends := eventOf(o.Status); sends {
		s.onDeliveries()
	}
	return o, nil
}

// lockOrder is a lockFunc. Keys and account users reach the orders of their tenant only; a key may name an order by its
// external id.
func lockOrder(ctx context.Context, tx *store.Tx, actor access.Actor, id string) (*order.Order, error) {
	if actor.Kind == access.ByAPIKey {
		found, err := tx.FindOrder(ctx, actor.Tenant, id)
		if err != nil {
			return nil, orderNotFound(actor, err)
		}
		return tx.OrderForUpdate(found.ID)
	}
	return reachableOrder(actor, id, tx.OrderForUpdate)
}

// reachableOrder reads the order with an id, of the actor's tenant where the actor is an account user.
func reachableOrder(actor access.Actor, id string, read func(string) (*order.Order, error)) (*order.Order, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, orderNotFound(actor, store.ErrNotFound)
	}
	o, err := read(id)
	if err == nil && actor.Kind == access.ByUser && o.Tenant() != actor.Tenant {
		err = store.ErrNotFound
	}
	return o, orderNotFound(actor, err)
}

// noSuchOrder is order.NotFound in the words that fit the actor.
var noSuchOrder = map[access.ActorKind]error{
	access.ByAPIKey: order.NotFound,
	access.ByUser:   fault.New(fault.NotFound, order.NotFound.Code, "There is no such order in this environment."),
	access.ByStaff:  fault.New(fault.NotFound, order.NotFound.Code, "There is no such order."),
}

// orderNotFound turns a missing row into what the actor is told.
func orderNotFound(actor access.Actor, err error) error {
	if refusal := noSuchOrder[actor.Kind]; refusal != nil && errors.Is(err, store.ErrNotFound) {
		return refusal
	}
	return err
}

// checkMove checks that the actor may make the move, and names the assignee where somebody else holds the order.
func checkMove(ctx context.Context, tx *store.Tx, o *order.Order, move order.Move, actor access.Actor) error {
	err := o.CheckMove(move, actor)
	if !errors.Is(err, order.Claimed) {
		return err
	}
	assignee, lookup := assigneeOf(ctx, tx.Queries, o)
	if lookup != nil || assignee == nil {
		return cmp.Or(lookup, err)
	}
	return order.Claimed.With("assignee", staffDetail(assignee))
}

// timelineEvents names what the timeline says of an order that has come into a status.
var timelineEvents = map[order.Status]string{
	order.Queued:       "released",
	order.Processing:   "claimed",
	order.UpdatePhotos: "photos-requested",
	order.Completed:    "completed",
	order.Failed:       "failed",
}

// saveMove stores an order that has been moved, with all that follows from the move.
func (s *Service) saveMove(
	ctx context.Context, tx *store.Tx, o *order.Order, actor access.Actor, details map[string]any,
) error {
	if err := tx.UpdateOrder(o); err != nil {
		return err
	}
	if o.Environment == access.Test { // it may be moved out of a result, whose certificate then ends
		if err := tx.RevokeCertificatesOf(o.ID, o.CertificateID, supersededReason, o.UpdatedAt); err != nil {
			return err
		}
	}
	if o.EndedAt != nil && o.Environment == access.Live {
		if err := tx.DeleteVerdictDrafts(o.ID, o.AssigneeID); err != nil {
			return err
		}
	}
	return s.afterMove(ctx, tx, o, actor, details)
}

// afterMove writes what follows from a move whose row is stored: the timeline entry, the refund where one is due, the
// count of a result, the certificate of an authentic item, and the events for the endpoints of the order's key.
func (s *Service) afterMove(
	ctx context.Context, tx *store.Tx, o *order.Order, actor access.Actor, details map[string]any,
) error {
	event := timelineEvents[o.Status]
	if o.Outcome != "" {
		details = with(maps.Clone(details), "outcome", string(o.Outcome))
	}
	entry := &order.TimelineEntry{At: o.UpdatedAt, Event: event, Actor: actor, Details: details}
	if err := tx.AppendTimeline(o.ID, entry); err != nil {
		return err
	}
	if o.Status == order.Failed || o.Outcome == order.Canceled {
		if err := refund(ctx, tx, o, event); err != nil {
			return err
		}
	}
	if o.EndedAt != nil {
		if err := tx.CountResult(o, bucketOfResult(o)); err != nil {
			return err
		}
	}
	if err := s.certify(ctx, tx, o); err != nil {
		return err
	}
	return s.emit(ctx, tx, o)
}

// refund gives the price of an order back. A Test order may have been refunded by an earlier simulation: it is refunded
// once.
func refund(ctx context.Context, tx *store.Tx, o *order.Order, event string) error {
	if o.Environment == access.Test {
		if refunded, err := tx.Refunded(ctx, o.ID); err != nil || refunded {
			return err
		}
	}
	return tx.RefundOrder(o.ID, "order "+o.Number+" "+event, o.UpdatedAt)
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

// emit stores the event, and puts one delivery for each endpoint that wants it into the outbox.
func (s *Service) emit(ctx context.Context, tx *store.Tx, o *order.Order) error {
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
	WebhookEvent webhook.Event    `json:"webhook_event"`
	DeliveryID   string           `json:"delivery_id,omitempty"`
	ExternalID   *string          `json:"external_id"`
	OrderNumber  *string          `json:"order_number"`
	CreatedAt    *order.Timestamp `json:"created_at"`
	*order.Detail
}

// newDelivery returns a delivery of an event of an order, with the exact bytes to send.
func newDelivery(o *order.Order, event webhook.Event, detail *order.Detail) (*webhook.Delivery, error) {
	d := &webhook.Delivery{ID: store.NewIDAt(o.UpdatedAt), OrderID: o.ID, Event: event, CreatedAt: o.UpdatedAt}
	var err error
	d.Body, err = eventBody(o, event, d.ID, detail)
	return d, err
}

func eventBody(o *order.Order, event webhook.Event, deliveryID string, detail *order.Detail) ([]byte, error) {
	return json.Marshal(&payload{
		WebhookEvent: event, DeliveryID: deliveryID, ExternalID: o.ExternalID, OrderNumber: &o.Number,
		CreatedAt: order.At(&o.UpdatedAt), Detail: detail,
	})
}
