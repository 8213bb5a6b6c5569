package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// PortalEndpoints returns the webhook endpoints of the account in an environment, newest first.
func (s *Service) PortalEndpoints(ctx context.Context, who *Member, env access.Environment) ([]*webhook.Endpoint, error) {
	return s.Store.EndpointsOf(ctx, who.AccountID, env)
}

// PortalEndpoint returns one of them, or webhook.NotFound.
func (s *Service) PortalEndpoint(ctx context.Context, who *Member, env access.Environment, id string) (*webhook.Endpoint, error) {
	id, ok := store.ParseID(id)
	if !ok {
		return nil, webhook.NotFound()
	}
	e, err := s.Store.EndpointOf(ctx, who.AccountID, env, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, webhook.NotFound()
	}
	return e, err
}

// PortalCreateEndpoint is CreateEndpoint for an account user and one of the account's keys that is in force. It is for
// developers.
func (s *Service) PortalCreateEndpoint(ctx context.Context, who *Member, env access.Environment, keyID string, n NewEndpoint, from Origin) (*webhook.Endpoint, string, error) {
	if err := who.Require(access.Developer); err != nil {
		return nil, "", err
	}
	k, err := s.PortalKey(ctx, who, keyID)
	if err != nil {
		return nil, "", err
	}
	if k.Environment != env || !k.UsableAt(s.now()) {
		return nil, "", KeyNotFound
	}
	return s.createEndpoint(ctx, k, n, auditActor(who.Actor("", from)), who.ID)
}

// PortalDeleteEndpoint removes an endpoint of the account with what is still to be sent to it. It is for developers.
func (s *Service) PortalDeleteEndpoint(ctx context.Context, who *Member, env access.Environment, id string) error {
	if err := who.Require(access.Developer); err != nil {
		return err
	}
	e, err := s.PortalEndpoint(ctx, who, env, id)
	if err != nil {
		return err
	}
	return s.DeleteEndpoint(ctx, &access.Key{ID: e.APIKeyID}, e.ID)
}

// testEventReference is the external id of the order that a test event is about. There is no such order.
const testEventReference = "assay-test-event"

// SendTestEvent puts a delivery about an order that does not exist on its way to an endpoint, to prove that it arrives and
// that its signature is verified. Its id is new, its external id says what it is. It is for developers.
func (s *Service) SendTestEvent(ctx context.Context, who *Member, env access.Environment, endpointID string, event webhook.Event) (deliveryID string, err error) {
	if err := who.Require(access.Developer); err != nil {
		return "", err
	}
	e, err := s.PortalEndpoint(ctx, who, env, endpointID)
	if err != nil {
		return "", err
	}
	if !e.Wants(event) {
		return "", fault.Validation(fault.Problem{Field: "event", Code: "unknown_code", Message: "is not an event of this endpoint"})
	}
	k, err := s.PortalKey(ctx, who, e.APIKeyID)
	if err != nil {
		return "", err
	}
	if k.RevokedAt != nil {
		return "", errEndpointStopped
	}
	o := s.sampleOrder(env, event)
	detail := o.View(who.Account.Locale, o.UpdatedAt, s.CertificateURL)
	d, err := newDelivery(o, event, &detail)
	if err != nil {
		return "", err
	}
	d.OrderID = "" // there is no such order
	if err := s.Store.Update(ctx, func(tx *store.Tx) error { return tx.InsertDelivery(d, e) }); err != nil {
		return "", err
	}
	s.Outbox()
	return d.ID, nil
}

var errEndpointStopped = fault.New(fault.Conflict, "endpoint-stopped", "The API key of this endpoint is revoked: it gets nothing any more.")

// sampleOrder is an order that exists nowhere, of the first item in the catalog.
func (s *Service) sampleOrder(env access.Environment, event webhook.Event) *order.Order {
	now := s.now()
	due, reference := now.Add(24*time.Hour), testEventReference
	snap := s.Catalog()
	var where catalog.Context
	if brands, err := snap.Brands("", ""); err == nil && len(brands) > 0 && len(brands[0].Categories) > 0 {
		where = catalog.Context{Category: brands[0].Categories[0].Code, Brand: brands[0].Code}
	}
	o := &order.Order{
		ID: store.NewID(), Environment: env, Number: order.NewNumber(), ExternalID: &reference, Status: order.Processing, DueAt: &due,
		CreatedAt: now, UpdatedAt: now, Recorded: order.Recorded{Classification: classify(snap, where)},
	}
	indexes := snap.PhotoIndexes(where)
	photos := []order.Photo{{Name: "sample", IndexCode: "overall-picture"}}
	if len(indexes) > 0 {
		photos[0].IndexCode = indexes[0].Code
	}
	mock := order.MockAuthentic
	if event == webhook.UpdatePhotos {
		mock = order.MockUpdatePhotos
	}
	o.Simulate(mock, snap, indexes, photos, now)
	o.CertificateID = "" // there is no certificate to show
	return o
}

// PortalDeliveries returns up to limit deliveries of the account in an environment, newest first.
func (s *Service) PortalDeliveries(ctx context.Context, who *Member, env access.Environment, f store.DeliveryFilter, limit int) ([]*store.DeliveryRecord, error) {
	f.AccountID, f.Environment = who.AccountID, string(env)
	return s.Store.Deliveries(ctx, f, limit)
}

// SentAttempt is an attempt with the headers that it sent, as far as they can be told: nothing of them is kept, all follows
// from the delivery, the endpoint and the time. A token is never told, and a signature not when its endpoint is deleted.
type SentAttempt struct {
	webhook.Attempt
	Headers []webhook.Header
}

// hiddenToken stands for an OAuth2 token.
const hiddenToken = "••••••"

// PortalDelivery returns a delivery of the account with its attempts.
func (s *Service) PortalDelivery(ctx context.Context, who *Member, env access.Environment, id string) (*store.DeliveryRecord, []SentAttempt, error) {
	d, attempts, err := s.Delivery(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if d.AccountID != who.AccountID || d.Environment != string(env) {
		return nil, nil, DeliveryNotFound
	}
	proof, err := s.proofOf(ctx, who, env, d)
	if err != nil {
		return nil, nil, err
	}
	sent := make([]SentAttempt, len(attempts))
	for i, a := range attempts {
		sent[i] = SentAttempt{Attempt: a, Headers: append(webhook.Headers(d.Event, d.ID), proof(a)...)}
	}
	return d, sent, nil
}

// proofOf returns how the attempts on a delivery proved where they come from.
func (s *Service) proofOf(ctx context.Context, who *Member, env access.Environment, d *store.DeliveryRecord) (func(webhook.Attempt) []webhook.Header, error) {
	unknown := func(webhook.Attempt) []webhook.Header { return nil }
	e, err := s.Store.EndpointOf(ctx, who.AccountID, env, d.EndpointID)
	if errors.Is(err, store.ErrNotFound) {
		return unknown, nil
	}
	if err != nil {
		return nil, err
	}
	if e.OAuth != nil {
		return func(webhook.Attempt) []webhook.Header { return webhook.TokenHeaders(hiddenToken) }, nil
	}
	secret, err := s.Secrets.Open(e.SealedSecret, e.ID)
	if err != nil { // the sender cannot read it either, and says so in the log
		return unknown, nil
	}
	return func(a webhook.Attempt) []webhook.Header { return webhook.SignatureHeaders(secret, a.At, d.Body) }, nil
}

// RedeliverOwn sends a delivery of the account that has ended once more, with the same id and body. It is for developers.
func (s *Service) RedeliverOwn(ctx context.Context, who *Member, env access.Environment, id string) error {
	if err := who.Require(access.Developer); err != nil {
		return err
	}
	d, _, err := s.PortalDelivery(ctx, who, env, id)
	if err != nil {
		return err
	}
	return s.Redeliver(ctx, d)
}

// RedeliverFailedOwn sends all deliveries of the account again that failed since the time, and returns how many those are. It
// is for developers.
func (s *Service) RedeliverFailedOwn(ctx context.Context, who *Member, env access.Environment, since time.Time) (int, error) {
	if err := who.Require(access.Developer); err != nil {
		return 0, err
	}
	return s.RedeliverFailed(ctx, store.DeliveryFilter{AccountID: who.AccountID, Environment: string(env)}, since)
}
