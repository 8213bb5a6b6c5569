package service

import (
	"context"
	"errors"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/store"
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

// CreateEndpoint registers a webhook endpoint for the key. It returns the signing secret, which is told once; there is
// none with OAuth.
func (s *Service) CreateEndpoint(ctx context.Context, k *access.Key, n NewEndpoint, from Origin) (e *webhook.Endpoint, signingSecret string, err error) {
	return s.createEndpoint(ctx, k, n, auditActor(k.Actor(from)), k.CreatedBy)
}

// createEndpoint is CreateEndpoint for whoever does it, on behalf of an account user.
func (s *Service) createEndpoint(ctx context.Context, k *access.Key, n NewEndpoint, by audit.Actor, userID string) (e *webhook.Endpoint, signingSecret string, err error) {
	if err := s.checkHost(ctx, "url", n.URL); err != nil {
		return nil, "", err
	}
	e = &webhook.Endpoint{
		ID: store.NewID(), AccountID: k.AccountID, Environment: string(k.Environment), APIKeyID: k.ID, Name: n.Name, URL: n.URL.String(),
		Events: n.Events, CreatedAt: s.now(),
	}
	if n.OAuth == nil {
		signingSecret = webhook.NewSigningSecret()
		e.SealedSecret = s.Secrets.Seal(signingSecret, e.ID)
	} else {
		if err := s.checkHost(ctx, "auth.token_url", n.OAuth.TokenURL); err != nil {
			return nil, "", err
		}
		e.OAuth = &webhook.OAuth{TokenURL: n.OAuth.TokenURL.String(), ClientID: n.OAuth.ClientID, Scope: n.OAuth.Scope}
		e.SealedSecret = s.Secrets.Seal(n.OAuth.ClientSecret, e.ID)
	}
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockKey(k.ID); err != nil {
			return err
		}
		existing, err := tx.Endpoints(ctx, k.ID)
		if err != nil {
			return err
		}
		canonical := n.URL.Canonical()
		for _, x := range existing {
			if webhook.CanonicalURL(x.URL) == canonical {
				return webhook.AlreadyExists()
			}
		}
		if len(existing) >= webhook.MaxEndpoints {
			return webhook.LimitReached()
		}
		if err := tx.InsertEndpoint(e, canonical); err != nil {
			return err
		}
		return tx.AppendAudit(&audit.Event{
			AccountID: k.AccountID, UserID: userID, At: e.CreatedAt, Code: audit.WebhookCreated, Actor: by,
			Target: audit.Target{Type: audit.OnWebhook, ID: e.ID},
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

func (s *Service) checkHost(ctx context.Context, field string, u webhook.URL) error {
	err := s.Guard.CheckHost(ctx, u.Hostname())
	if reason := netguard.ReasonOf(err); reason != "" {
		return webhook.Unsafe(field, reason).Because(err)
	}
	return err
}

// Endpoints returns the endpoints of the key, newest first.
func (s *Service) Endpoints(ctx context.Context, k *access.Key) ([]*webhook.Endpoint, error) {
	return s.Store.Endpoints(ctx, k.ID)
}

// DeleteEndpoint removes an endpoint of the key with what is still to be sent to it.
func (s *Service) DeleteEndpoint(ctx context.Context, k *access.Key, id string) error {
	err := s.Store.Update(ctx, func(tx *store.Tx) error { return tx.DeleteEndpoint(k.ID, id) })
	if errors.Is(err, store.ErrNotFound) {
		return webhook.NotFound()
	}
	return err
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
