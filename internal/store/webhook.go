package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
)

// InsertEndpoint adds a webhook endpoint; ErrExists when the key has one with the same canonical URL.
func (t *Tx) InsertEndpoint(e *webhook.Endpoint, canonicalURL string) error {
	var tokenURL, clientID, scope any
	if e.OAuth != nil {
		tokenURL, clientID, scope = e.OAuth.TokenURL, e.OAuth.ClientID, textOrNull(e.OAuth.Scope)
	}
	_, err := t.exec(`INSERT INTO webhook_endpoints (id, account_id, environment, api_key_id, name, url, canonical_url,
		events, auth_type, sealed_secret,
		token_url, client_id, scope, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		e.ID, e.AccountID, string(e.Environment), e.APIKeyID, textOrNull(e.Name), e.URL, canonicalURL, joinEvents(e.Events),
		e.AuthType(), e.SealedSecret,
		tokenURL, clientID, scope, micros(e.CreatedAt))
	return err
}

const endpointColumns = `id, account_id, environment, api_key_id, name, url, events, sealed_secret, token_url,
	client_id, scope, created_at`

// Endpoints returns the endpoints of an API key, newest first.
func (q Queries) Endpoints(ctx context.Context, keyID string) ([]*webhook.Endpoint, error) {
	return q.endpoints(
		ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE api_key_id = $1 ORDER BY created_at DESC, id DESC",
		keyID,
	)
}

// EndpointsOf returns the endpoints of an account in an environment, newest first.
func (q Queries) EndpointsOf(
	ctx context.Context, accountID string, env access.Environment,
) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints
			WHERE account_id = $1 AND environment = $2 ORDER BY created_at DESC, id DESC`,
		accountID, string(env))
}

// ReceivingEndpoints returns the endpoints of an API key that get events: all, unless the key is revoked.
func (q Queries) ReceivingEndpoints(ctx context.Context, keyID string) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints WHERE api_key_id = $1
		AND EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = $1 AND revoked_at IS NULL) ORDER BY created_at, id`, keyID)
}

// Endpoint returns an endpoint by its id.
func (q Queries) Endpoint(ctx context.Context, id string) (*webhook.Endpoint, error) {
	return first(q.endpoints(ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id = $1", id))
}

func (q Queries) endpoints(ctx context.Context, text string, args ...any) ([]*webhook.Endpoint, error) {
	var endpoints []*webhook.Endpoint
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		e := new(webhook.Endpoint)
		var name, tokenURL, clientID, scope sql.NullString
		var events string
		var created int64
		err := scan(
			&e.ID, &e.AccountID, &e.Environment, &e.APIKeyID, &name, &e.URL, &events, &e.SealedSecret, &tokenURL, &clientID,
			&scope, &created,
		)
		e.Name, e.Events, e.CreatedAt = name.String, splitEvents(events), timeOf(created)
		if tokenURL.Valid {
			e.OAuth = &webhook.OAuth{TokenURL: tokenURL.String, ClientID: clientID.String, Scope: scope.String}
		}
		endpoints = append(endpoints, e)
		return err
	})
	return endpoints, err
}

// DeleteEndpoint removes an endpoint of an API key together with its pending deliveries, or returns ErrNotFound.
func (t *Tx) DeleteEndpoint(keyID, id string) error {
	if err := t.one("DELETE FROM webhook_endpoints WHERE id = $1 AND api_key_id = $2", id, keyID); err != nil {
		return err
	}
	return t.DropPendingDeliveries(id)
}

func joinEvents(events []webhook.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = string(e)
	}
	return strings.Join(names, " ")
}

func splitEvents(s string) []webhook.Event {
	var events []webhook.Event
	for f := range strings.FieldsSeq(s) {
		events = append(events, webhook.Event(f))
	}
	return events
}
