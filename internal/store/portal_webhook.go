package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/google/uuid"
)

// EndpointsOf returns the endpoints of an account in an environment, newest first.
func (q Queries) EndpointsOf(ctx context.Context, accountID string, env access.Environment) ([]*webhook.Endpoint, error) {
	return q.endpoints(ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE account_id = $1 AND environment = $2 ORDER BY created_at DESC, id DESC",
		accountID, string(env))
}

// EndpointOf returns an endpoint of the account and environment.
func (q Queries) EndpointOf(ctx context.Context, accountID string, env access.Environment, id string) (*webhook.Endpoint, error) {
	found, err := q.endpoints(ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id = $1 AND account_id = $2 AND environment = $3",
		id, accountID, string(env))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNotFound
	}
	return found[0], nil
}

// PendingDeliveries counts the deliveries that are on their way to the endpoints of an account in an environment, as far as
// limit, and tells when the oldest of them was made; the time is zero when there is none.
func (q Queries) PendingDeliveries(ctx context.Context, accountID string, env access.Environment, limit int) (n int, oldest time.Time, err error) {
	var first string // ids are in the order of time
	if err := q.row(ctx, `SELECT COUNT(*), COALESCE(MIN(delivery_id), '') FROM (SELECT delivery_id FROM delivery_queue WHERE endpoint_id IN (
		SELECT id FROM webhook_endpoints WHERE account_id = $1 AND environment = $2) LIMIT $3) AS found`, []any{accountID, string(env), limit}, &n, &first); err != nil || n == 0 {
		return n, time.Time{}, err
	}
	var created int64
	err = q.row(ctx, "SELECT created_at FROM deliveries WHERE id = $1", []any{first}, &created)
	if errors.Is(err, ErrNotFound) { // it has ended and gone meanwhile
		return n, time.Time{}, nil
	}
	return n, timeOf(created), err
}

// FirstID returns an id that sorts before every id of NewID from the time on, and after those of earlier milliseconds.
func FirstID(t time.Time) string {
	var id uuid.UUID
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // the six bytes of the time, one by one
	}
	id[6] = 0x70
	id[8] = 0x80
	return id.String()
}
