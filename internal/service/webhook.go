package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/tracing"
)

// NewEndpoint says what webhook endpoint to make; its shape has been checked.
type NewEndpoint struct {
	Name   string // empty: none
	URL    webhook.URL
	Events []webhook.Event
	OAuth  *NewOAuth // nil: deliveries are signed
}

// NewOAuth is how deliveries get their token.
type NewOAuth struct {
	TokenURL     webhook.URL
	ClientID     string
	ClientSecret string
	Scope        string
}

// CreateEndpoint registers a webhook endpoint for a key. It returns the signing secret, which is told once; there is
// none with OAuth. Account users can choose keys of their environment that are usable.
func (s *Service) CreateEndpoint(
	ctx context.Context, actor access.Actor, keyID string, n NewEndpoint,
) (e *webhook.Endpoint, signingSecret string, err error) {
	if err := actor.Require(access.ManageWebhooks); err != nil {
		return nil, "", err
	}
	k, err := keyFor(ctx, s.store.Queries, actor, keyID)
	if err != nil {
		return nil, "", err
	}
	userID := k.CreatedBy
	if actor.Kind == access.ByUser {
		userID = actor.ID
		if !k.UsableAt(s.now()) {
			return nil, "", access.KeyNotFound
		}
	}
	if err := s.checkHost(ctx, "url", n.URL); err != nil {
		return nil, "", err
	}
	e = &webhook.Endpoint{
		ID: uuid7.New(), Tenant: k.Tenant, APIKeyID: k.ID, Name: n.Name, URL: n.URL.String(), Events: n.Events,
		CreatedAt: s.now(),
	}
	if n.OAuth == nil {
		signingSecret = webhook.NewSigningSecret()
		e.SealedSecret = s.secrets.Seal(signingSecret, e.ID)
	} else {
		if err := s.checkHost(ctx, "auth.token_url", n.OAuth.TokenURL); err != nil {
			return nil, "", err
		}
		e.OAuth = &webhook.OAuth{TokenURL: n.OAuth.TokenURL.String(), ClientID: n.OAuth.ClientID, Scope: n.OAuth.Scope}
		e.SealedSecret = s.secrets.Seal(n.OAuth.ClientSecret, e.ID)
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		if err := insertEndpoint(tx, e, n.URL.Canonical()); err != nil {
			return err
		}
		return tx.AppendEvent(&audit.Event{
			AccountID: k.AccountID, UserID: userID, At: e.CreatedAt, Code: audit.WebhookCreated, Actor: audit.By(actor),
			Target: audit.Target{Type: audit.TargetWebhook, ID: e.ID},
			Metadata: map[string]any{
				"name": nullable(e.Name), "events": e.Events, "auth_type": e.AuthType(), "environment": string(k.Environment),
			},
		})
	})
	if err != nil {
		return nil, "", err
	}
	return e, signingSecret, nil
}

// endpointEvent is an event about an endpoint. Its address may hold a secret: it is not told.
func endpointEvent(code audit.Code, e *webhook.Endpoint, metadata map[string]any) audit.Event {
	of := map[string]any{"name": nullable(e.Name), "environment": string(e.Environment)}
	return eventOn(e.AccountID, code, audit.TargetWebhook, e.ID, of, metadata)
}

// insertEndpoint adds an endpoint, unless its key has one with the same URL or has as many as it may have.
func insertEndpoint(tx *store.Tx, e *webhook.Endpoint, canonicalURL string) error {
	if err := tx.LockKey(e.APIKeyID); err != nil {
		return err
	}
	existing, err := tx.Endpoints(tx.Context(), e.APIKeyID)
	if err != nil {
		return err
	}
	for _, x := range existing {
		if webhook.CanonicalURL(x.URL) == canonicalURL {
			return webhook.AlreadyExists
		}
	}
	if len(existing) >= webhook.MaxEndpoints {
		return webhook.LimitReached
	}
	return tx.InsertEndpoint(e, canonicalURL)
}

func (s *Service) checkHost(ctx context.Context, field string, u webhook.URL) error {
	err := s.guard.CheckPort(u.Host, u.Port)
	if err == nil {
		err = s.guard.CheckHost(ctx, u.Host)
	}
	if reason := netguard.ReasonOf(err); reason != "" {
		return webhook.Unsafe(field, reason, s.WebhookPorts()).Because(err)
	}
	return err
}

// WebhookPorts are the ports that webhooks and token requests may go to.
func (s *Service) WebhookPorts() string { return s.guard.Ports.String() }

// Endpoints returns the webhook endpoints of a tenant, newest first.
func (s *Service) Endpoints(ctx context.Context, actor access.Actor, t access.Tenant) ([]*webhook.Endpoint, error) {
	if err := actor.RequireIn(access.ViewAccount, t.AccountID); err != nil {
		return nil, err
	}
	return s.store.Lists(ctx).EndpointsOf(ctx, t)
}

// EndpointsOfKey returns the endpoints of an API key, newest first. A key sees its own only.
func (s *Service) EndpointsOfKey(ctx context.Context, actor access.Actor, keyID string) ([]*webhook.Endpoint, error) {
	if actor.Kind == access.ByAPIKey {
		keyID = actor.ID
	} else if _, err := s.Key(ctx, actor, keyID); err != nil {
		return nil, err
	}
	return s.store.Endpoints(ctx, keyID)
}

// Endpoint returns a webhook endpoint, or webhook.NotFound. A key sees its own only.
func (s *Service) Endpoint(ctx context.Context, actor access.Actor, id string) (*webhook.Endpoint, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	e, err := byID(ctx, id, s.store.Endpoint, webhook.NotFound)
	if err == nil && (!actor.Sees(e.Tenant) || actor.Kind == access.ByAPIKey && e.APIKeyID != actor.ID) {
		return nil, webhook.NotFound
	}
	return e, err
}

// managedEndpoint returns an endpoint to an actor who may change it.
func (s *Service) managedEndpoint(ctx context.Context, actor access.Actor, id string) (*webhook.Endpoint, error) {
	if err := actor.Require(access.ManageWebhooks); err != nil {
		return nil, err
	}
	return s.Endpoint(ctx, actor, id)
}

// EndpointHours returns how the attempts on an endpoint went in each hour since a time in which there were any.
func (s *Service) EndpointHours(
	ctx context.Context, actor access.Actor, id string, since time.Time,
) ([]webhook.HourCount, error) {
	e, err := s.Endpoint(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return s.store.Lists(ctx).EndpointHours(ctx, e.ID, since)
}

// DeleteEndpoint removes an endpoint. The sender drops what is still to be sent to it.
func (s *Service) DeleteEndpoint(ctx context.Context, actor access.Actor, id string) error {
	e, err := s.managedEndpoint(ctx, actor, id)
	if err != nil {
		return err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.DeleteEndpoint(e.APIKeyID, e.ID, s.now()),
			s.record(tx, actor, endpointEvent(audit.WebhookDeleted, e, nil)))
	})
	s.onChange(EndpointChange)
	return store.NotFoundAs(err, webhook.NotFound)
}

// RotateSecret gives an endpoint another signing secret, which is told once. Deliveries are signed with the one it had
// as well, until PreviousUntil of the endpoint's rotation.
func (s *Service) RotateSecret(
	ctx context.Context, actor access.Actor, id string,
) (e *webhook.Endpoint, signingSecret string, err error) {
	return s.RotateSecretOnce(ctx, actor, id, time.Time{}, false)
}

// RotateSecretOnce is RotateSecret for a form that may be sent twice: it replaces the secret that the endpoint has
// since a time, and refuses to replace a later one. Without a time it replaces any. A lost one has reached nobody: then
// the one before it stays the previous one.
func (s *Service) RotateSecretOnce(
	ctx context.Context, actor access.Actor, id string, since time.Time, lost bool,
) (e *webhook.Endpoint, signingSecret string, err error) {
	if e, err = s.managedEndpoint(ctx, actor, id); err != nil {
		return nil, "", err
	}
	if e.OAuth != nil {
		return nil, "", webhook.NotHMAC
	}
	signingSecret = webhook.NewSigningSecret()
	sealed := s.secrets.Seal(signingSecret, e.ID)
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		locked, err := tx.LockEndpoint(e.ID)
		if err != nil {
			return err
		}
		e = locked
		if !since.IsZero() && !e.SecretSince().Equal(since) {
			return webhook.AlreadyRotated
		}
		rotate := e.Rotate
		if lost {
			rotate = e.RotateLost
		}
		rotate(sealed, s.now(), s.secretOverlap)
		return errors.Join(tx.SaveRotation(e), s.record(tx, actor, endpointEvent(audit.SecretRotated, e, nil)))
	})
	if err != nil {
		return nil, "", store.NotFoundAs(err, webhook.NotFound)
	}
	s.onChange(EndpointChange)
	return e, signingSecret, nil
}

// PauseEndpoint makes the deliveries to an endpoint wait, or lets them go on, with all their attempts. Where the
// endpoint is so already, nothing happens and nothing is recorded.
func (s *Service) PauseEndpoint(
	ctx context.Context, actor access.Actor, id string, pause bool,
) (*webhook.Endpoint, error) {
	e, err := s.managedEndpoint(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	err = s.store.Update(ctx, func(tx *store.Tx) error {
		code, changed, err := audit.WebhookResumed, false, error(nil)
		if pause {
			code = audit.WebhookPaused
			changed, err = tx.PauseEndpoint(e.APIKeyID, e.ID, s.now())
		} else {
			changed, err = tx.ResumeEndpoint(e.APIKeyID, e.ID)
		}
		if err != nil || !changed {
			return err
		}
		return s.record(tx, actor, endpointEvent(code, e, nil))
	})
	if err != nil {
		return nil, err
	}
	s.onChange(EndpointChange)
	s.onDeliveries()
	return s.Endpoint(ctx, actor, id)
}

// CountEndpoints returns how many endpoints a key has, and how many of them failed: their last delivery that ended did.
func (s *Service) CountEndpoints(ctx context.Context, actor access.Actor) (all, failing int, err error) {
	endpoints, err := s.EndpointsOfKey(ctx, actor, actor.ID)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range endpoints {
		last, err := s.store.LastDelivery(ctx, e.ID)
		if err != nil {
			return 0, 0, err
		}
		if last == webhook.Failed {
			failing++
		}
	}
	return len(endpoints), failing, nil
}

// testEventReference is the external id of the order that a test event is about. There is no such order.
const testEventReference = "assay-test-event"

// SendTestEvent queues a delivery about an order that does not exist, to show that it arrives and that its signature is
// verified. Its id is new, its external id says what it is.
func (s *Service) SendTestEvent(
	ctx context.Context, actor access.Actor, endpointID string, event webhook.Event,
) (deliveryID string, err error) {
	e, err := s.managedEndpoint(ctx, actor, endpointID)
	if err != nil {
		return "", err
	}
	if !e.Wants(event) {
		return "", fault.InvalidField("event", "unknown_code", "is not an event of this endpoint")
	}
	k, err := s.store.Key(ctx, e.APIKeyID)
	if err != nil {
		return "", err
	}
	if k.RevokedAt != nil {
		return "", webhook.EndpointStopped
	}
	account, err := s.store.Account(ctx, e.AccountID)
	if err != nil {
		return "", err
	}
	o := s.sampleOrder(e.Environment, event)
	detail := o.View(account.Locale, o.UpdatedAt, s.CertificateURL)
	d, err := newDelivery(o, event, &detail)
	if err != nil {
		return "", err
	}
	d.OrderID = "" // there is no such order
	d.Trace = tracing.Parent(ctx)
	if err := s.store.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.InsertDelivery(d, e),
			s.record(tx, actor, endpointEvent(audit.WebhookTested, e, map[string]any{"event": string(event)})))
	}); err != nil {
		return "", err
	}
	s.onDeliveries()
	return d.ID, nil
}

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
		ID: uuid7.New(), Environment: env, Number: order.NewNumber(), ExternalID: &reference, Status: order.Processing,
		DueAt:     &due,
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

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
