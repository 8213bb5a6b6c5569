package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// InsertEndpoint adds a webhook endpoint; ErrExists when the key has one with the same canonical URL.
func (t *Tx) InsertEndpoint(e *webhook.Endpoint, canonicalURL string) error {
	var tokenURL, clientID, scope any
	if e.OAuth != nil {
		tokenURL, clientID, scope = e.OAuth.TokenURL, e.OAuth.ClientID, column.TextOrNull(e.OAuth.Scope)
	}
	return t.db.Insert("webhook_endpoints ("+endpointColumns+", canonical_url, auth_type)",
		e.ID, e.AccountID, string(e.Environment), e.APIKeyID, column.TextOrNull(e.Name), e.URL,
		strings.Join(enum.Names(e.Events), " "), e.SealedSecret, tokenURL, clientID, scope, column.Micros(e.CreatedAt),
		nil, nil, nil, nil, canonicalURL, e.AuthType())
}

const endpointColumns = `id, account_id, environment, api_key_id, name, url, events, sealed_secret, token_url,
	client_id, scope, created_at, paused_at, rotated_at, sealed_previous, previous_until`

// Endpoints returns the endpoints of an API key, newest first.
func (q Queries) Endpoints(ctx context.Context, keyID string) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints
		WHERE api_key_id = $1 ORDER BY created_at DESC, id DESC`, keyID)
}

// EndpointsOf returns the endpoints of a tenant, newest first.
func (q Queries) EndpointsOf(ctx context.Context, tenant access.Tenant) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints
		WHERE account_id = $1 AND environment = $2 ORDER BY created_at DESC, id DESC`,
		tenant.AccountID, string(tenant.Environment))
}

// ReceivingEndpoints returns the endpoints of an API key that get events: all, unless the key is revoked.
func (q Queries) ReceivingEndpoints(ctx context.Context, keyID string) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+` FROM webhook_endpoints WHERE api_key_id = $1
		AND EXISTS (SELECT 1 FROM api_keys WHERE api_keys.id = $1 AND revoked_at IS NULL) ORDER BY created_at, id`, keyID)
}

// Endpoint returns an endpoint by its id.
func (q Queries) Endpoint(ctx context.Context, id string) (*webhook.Endpoint, error) {
	return db.First(q.endpoints(ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id = $1", id))
}

func (q Queries) endpoints(ctx context.Context, text string, args ...any) ([]*webhook.Endpoint, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.Endpoint, error) {
		e := new(webhook.Endpoint)
		var oauth webhook.OAuth
		var rotation webhook.Rotation
		var events string
		err := scan(&e.ID, &e.AccountID, &e.Environment, &e.APIKeyID, column.Text(&e.Name), &e.URL, &events, &e.SealedSecret,
			column.Text(&oauth.TokenURL), column.Text(&oauth.ClientID), column.Text(&oauth.Scope), column.Time(&e.CreatedAt),
			column.TimeOrNil(&e.PausedAt), column.Time(&rotation.At), column.Text(&rotation.SealedPrevious),
			column.Time(&rotation.PreviousUntil))
		e.Events = splitEvents(events)
		if oauth.TokenURL != "" {
			e.OAuth = &oauth
		}
		if !rotation.At.IsZero() {
			e.Rotation = &rotation
		}
		return e, err
	}, text, args...)
}

// DeleteEndpoint removes an endpoint of an API key, or returns ErrNotFound. Its pending deliveries, which may be many,
// are not sent any more, and dropped by the sender.
func (t *Tx) DeleteEndpoint(keyID, id string, now time.Time) error {
	if err := t.db.One(`INSERT INTO deleted_endpoints (id, account_id, environment, deleted_at)
		SELECT id, account_id, environment, CAST($3 AS BIGINT) FROM webhook_endpoints WHERE id = $1 AND api_key_id = $2`,
		id, keyID, column.Micros(now)); err != nil {
		return err
	}
	return t.db.One("DELETE FROM webhook_endpoints WHERE id = $1 AND api_key_id = $2", id, keyID)
}

// LockEndpoint keeps others from changing an endpoint until the transaction ends, and returns it.
func (t *Tx) LockEndpoint(id string) (*webhook.Endpoint, error) {
	return db.First(t.endpoints(t.Context(),
		"SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id = $1"+t.db.Dialect.ForUpdate, id))
}

// SaveRotation saves the secrets of an endpoint after a rotation, or returns ErrNotFound.
func (t *Tx) SaveRotation(e *webhook.Endpoint) error {
	return t.db.One(`UPDATE webhook_endpoints SET sealed_secret = $1, sealed_previous = $2, rotated_at = $3,
		previous_until = $4 WHERE id = $5`, e.SealedSecret, e.Rotation.SealedPrevious, column.Micros(e.Rotation.At),
		column.Micros(e.Rotation.PreviousUntil), e.ID)
}

// PauseEndpoint makes the deliveries to an endpoint of an API key wait, and reports whether it was not paused: one that
// is stays so since the time it was.
func (t *Tx) PauseEndpoint(keyID, id string, now time.Time) (bool, error) {
	return t.changed(`UPDATE webhook_endpoints SET paused_at = $1
		WHERE id = $2 AND api_key_id = $3 AND paused_at IS NULL`, column.Micros(now), id, keyID)
}

// ResumeEndpoint ends the pause of an endpoint of an API key, and reports whether it was paused. What has waited gets
// all attempts; without a pause nothing gets more than it had.
func (t *Tx) ResumeEndpoint(keyID, id string) (bool, error) {
	paused, err := t.changed(`UPDATE webhook_endpoints SET paused_at = NULL
		WHERE id = $1 AND api_key_id = $2 AND paused_at IS NOT NULL`, id, keyID)
	if err != nil || !paused {
		return false, err
	}
	return true, t.exec("UPDATE delivery_queue SET failures = 0 WHERE endpoint_id = $1 AND failures > 0", id)
}

// PausedEndpoints returns the endpoints that were paused before a time.
func (q Queries) PausedEndpoints(ctx context.Context, before time.Time) ([]string, error) {
	return db.Column[string](ctx, q.db, "SELECT id FROM webhook_endpoints WHERE paused_at <= $1 ORDER BY id",
		column.Micros(before))
}

// newestDeliveries is in how many of the newest deliveries of an endpoint the last one that has ended is looked for.
const newestDeliveries = 100

// LastDelivery returns how the newest delivery to an endpoint ended that has ended; empty when none has.
func (q Queries) LastDelivery(ctx context.Context, endpointID string) (webhook.Status, error) {
	found, err := db.Column[string](ctx, q.db, `SELECT a.ended FROM (SELECT id FROM deliveries WHERE endpoint_id = $1
			ORDER BY id DESC LIMIT `+strconv.Itoa(newestDeliveries)+`) AS newest
		JOIN delivery_attempts a ON a.delivery_id = newest.id AND a.ended <> '' ORDER BY newest.id DESC LIMIT 1`, endpointID)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return webhook.Status(found[0]), nil
}

func splitEvents(s string) []webhook.Event {
	var events []webhook.Event
	for f := range strings.FieldsSeq(s) {
		events = append(events, webhook.Event(f))
	}
	return events
}
