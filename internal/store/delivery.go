package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
)

// InsertDelivery puts a delivery into the outbox and into the queue, due at once.
func (t *Tx) InsertDelivery(d *webhook.Delivery, e *webhook.Endpoint) error {
	if _, err := t.exec(`INSERT INTO deliveries (id, endpoint_id, account_id, environment, order_id, event, body,
		created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		d.ID, e.ID, e.AccountID, string(e.Environment), textOrNull(d.OrderID), string(d.Event), string(d.Body),
		micros(d.CreatedAt)); err != nil {
		return err
	}
	return t.enqueue(d.ID, e.ID, 0, d.CreatedAt)
}

// DropPendingDeliveriesOfKey removes what is still to be sent to the endpoints of an API key.
func (t *Tx) DropPendingDeliveriesOfKey(keyID string) error {
	endpoints, err := t.idList(t.ctx, "SELECT id FROM webhook_endpoints WHERE api_key_id = $1", []any{keyID})
	if err != nil {
		return err
	}
	for _, id := range endpoints {
		if err := t.DropPendingDeliveries(id); err != nil {
			return err
		}
	}
	return nil
}

// DropPendingDeliveries removes what is still to be sent to an endpoint.
func (t *Tx) DropPendingDeliveries(endpointID string) error {
	for _, text := range []string{
		`DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT delivery_id FROM delivery_queue
				WHERE endpoint_id = $1 AND attempts > 0)`,
		"DELETE FROM deliveries WHERE id IN (SELECT delivery_id FROM delivery_queue WHERE endpoint_id = $1)",
		"DELETE FROM delivery_queue WHERE endpoint_id = $1",
	} {
		if _, err := t.exec(text, endpointID); err != nil {
			return err
		}
	}
	return nil
}

const deliveryColumns = `d.id, d.endpoint_id, d.account_id, d.environment, d.order_id, d.event, d.created_at,
	a.number, a.at, a.ended, a.next_at, e.url`

// deliveryTables joins a delivery with its last attempt, which tells how it stands.
const deliveryTables = ` FROM deliveries d LEFT JOIN delivery_attempts a ON a.delivery_id = d.id
	AND a.number = (SELECT MAX(m.number) FROM delivery_attempts m
	WHERE m.delivery_id = d.id) LEFT JOIN webhook_endpoints e ON e.id = d.endpoint_id`

// Deliveries returns up to limit deliveries, newest first, without their bodies.
func (q Queries) Deliveries(ctx context.Context, f webhook.DeliveryFilter, limit int) ([]*webhook.Delivery, error) {
	args := []any{limit}
	var where []string
	add := func(condition string, value string) {
		if value != "" {
			args = append(args, value)
			where = append(where, fmt.Sprintf(condition, len(args)))
		}
	}
	add("d.account_id = $%d", f.AccountID)
	add("d.environment = $%d", string(f.Environment))
	add("d.endpoint_id = $%d", f.EndpointID)
	add("d.order_id = $%d", f.OrderID)
	add("d.id < $%d", f.Before)
	switch f.Status {
	case webhook.Pending:
		where = append(where, "d.id IN (SELECT delivery_id FROM delivery_queue)")
	case webhook.Failed:
		where = append(where, "d.id IN (SELECT delivery_id FROM delivery_attempts WHERE ended = 'failed')")
	case webhook.Delivered:
		where = append(where, "a.ended = 'delivered'")
	}
	text := "SELECT " + deliveryColumns + deliveryTables
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	var found []*webhook.Delivery
	err := q.rows(ctx, text+" ORDER BY d.id DESC LIMIT $1", args, func(scan func(...any) error) error {
		r := new(webhook.Delivery)
		found = append(found, r)
		return scanDelivery(r, scan)
	})
	return found, err
}

// Delivery returns a delivery with its body.
func (q Queries) Delivery(ctx context.Context, id string) (*webhook.Delivery, error) {
	var found []*webhook.Delivery
	text := "SELECT " + deliveryColumns + ", d.body" + deliveryTables + " WHERE d.id = $1"
	err := q.rows(ctx, text, []any{id}, func(scan func(...any) error) error {
		r := new(webhook.Delivery)
		found = append(found, r)
		return scanDelivery(r, scan, &r.Body)
	})
	return first(found, err)
}

func scanDelivery(r *webhook.Delivery, scan func(...any) error, more ...any) error {
	var orderID, ended, url sql.NullString
	var created int64
	var number, at, next sql.NullInt64
	err := scan(append([]any{
		&r.ID, &r.EndpointID, &r.AccountID, &r.Environment, &orderID, &r.Event, &created, &number, &at, &ended, &next, &url,
	}, more...)...)
	r.OrderID, r.EndpointURL, r.CreatedAt, r.Attempts = orderID.String, url.String, timeOf(created), int(number.Int64)
	switch {
	case ended.String != "":
		r.Status, r.FinishedAt = webhook.Status(ended.String), timeOf(at.Int64)
	case next.Valid:
		r.Status, r.NextAttemptAt = webhook.Pending, timeOf(next.Int64)
	default:
		r.Status, r.NextAttemptAt = webhook.Pending, r.CreatedAt
	}
	return err
}

// FailedDeliveries returns up to limit deliveries that failed at the time or later, oldest first, from those that the
// filter chooses; its Status and Before are not looked at. after is the id of the last one of the previous call.
func (q Queries) FailedDeliveries(
	ctx context.Context, f webhook.DeliveryFilter, since time.Time, after string, limit int,
) ([]string, error) {
	return q.idList(ctx, `SELECT a.delivery_id FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id
		WHERE a.ended = 'failed' AND a.at >= $1 AND a.delivery_id > $2
		AND ($3 = '' OR d.account_id = $3) AND ($4 = '' OR d.environment = $4) AND ($5 = '' OR d.endpoint_id = $5)
		AND ($6 = '' OR d.order_id = $6)
		ORDER BY a.delivery_id LIMIT $7`,
		[]any{micros(since), after, f.AccountID, string(f.Environment), f.EndpointID, f.OrderID, limit})
}

func (q Queries) idList(ctx context.Context, text string, args []any) ([]string, error) {
	var ids []string
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// Redeliver makes a delivery that has ended pending again, due at once and with all attempts before it. It returns
// ErrNotFound when there is no such delivery, when it is pending, or when its endpoint gets nothing any more.
func (t *Tx) Redeliver(id string, now time.Time) error {
	var endpointID string
	if err := t.row(t.ctx, `SELECT d.endpoint_id FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
		JOIN api_keys k ON k.id = e.api_key_id
		WHERE d.id = $1 AND k.revoked_at IS NULL`, []any{id}, &endpointID); err != nil {
		return err
	}
	var attempts int
	if err := t.row(t.ctx, `UPDATE delivery_attempts SET ended = '', next_at = $2
			WHERE delivery_id = $1 AND ended <> '' RETURNING number`,
		[]any{id, micros(now)}, &attempts); err != nil {
		return err
	}
	return t.enqueue(id, endpointID, attempts, now)
}

// PendingDeliveries counts the deliveries that are on their way to the endpoints of an account in an environment, as
// far as limit, and tells when the oldest of them was made; the time is zero when there is none.
func (q Queries) PendingDeliveries(
	ctx context.Context, accountID string, env access.Environment, limit int,
) (n int, oldest time.Time, err error) {
	var first string // ids are in the order of time
	if err := q.row(ctx, `SELECT COUNT(*), COALESCE(MIN(delivery_id), '') FROM (SELECT delivery_id
		FROM delivery_queue WHERE endpoint_id IN (
		SELECT id FROM webhook_endpoints WHERE account_id = $1 AND environment = $2) LIMIT $3) AS found`,
		[]any{accountID, string(env), limit}, &n, &first); err != nil || n == 0 {
		return n, time.Time{}, err
	}
	var created int64
	err = q.row(ctx, "SELECT created_at FROM deliveries WHERE id = $1", []any{first}, &created)
	if errors.Is(err, ErrNotFound) { // it has ended and gone meanwhile
		return n, time.Time{}, nil
	}
	return n, timeOf(created), err
}
