package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// InsertDelivery puts a delivery into the outbox and into the queue, due at its NextAttemptAt, or at once without one.
func (t *Tx) InsertDelivery(d *webhook.Delivery, e *webhook.Endpoint) error {
	const into = "deliveries (id, endpoint_id, account_id, environment, order_id, event, body, created_at, trace)"
	if err := t.db.Insert(into, d.ID, e.ID, e.AccountID, string(e.Environment), column.TextOrNull(d.OrderID),
		string(d.Event), string(d.Body), column.Micros(d.CreatedAt), column.TextOrNull(d.Trace)); err != nil {
		return err
	}
	due := d.NextAttemptAt
	if due.IsZero() {
		due = d.CreatedAt
	}
	return t.enqueue(d.ID, e.ID, 0, due)
}

// DropPendingDeliveriesOfKey removes what is still to be sent to the endpoints of an API key.
func (t *Tx) DropPendingDeliveriesOfKey(keyID string) error {
	ids, err := db.Column[string](t.Context(), t.db.Queries, "SELECT id FROM webhook_endpoints WHERE api_key_id = $1",
		keyID)
	for _, id := range ids {
		if err != nil {
			break
		}
		err = t.DropPendingDeliveries(id)
	}
	return err
}

// DropPendingDeliveries removes what is still to be sent to an endpoint.
func (t *Tx) DropPendingDeliveries(endpointID string) error {
	for _, text := range []string{
		`DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT delivery_id FROM delivery_queue
				WHERE endpoint_id = $1 AND attempts > 0)`,
		"DELETE FROM deliveries WHERE id IN (SELECT delivery_id FROM delivery_queue WHERE endpoint_id = $1)",
		"DELETE FROM delivery_queue WHERE endpoint_id = $1",
	} {
		if _, err := t.db.Exec(text, endpointID); err != nil {
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
	args := db.Arguments{limit}
	where := args.Equal("d.account_id", f.AccountID) + args.Equal("d.environment", string(f.Environment)) +
		args.Equal("d.endpoint_id", f.EndpointID) + args.Equal("d.order_id", f.OrderID)
	if f.Before != "" {
		where += " AND d.id < " + args.Add(f.Before)
	}
	switch f.Status {
	case webhook.Pending:
		where += " AND d.id IN (SELECT delivery_id FROM delivery_queue)"
	case webhook.Failed:
		where += " AND d.id IN (SELECT delivery_id FROM delivery_attempts WHERE ended = 'failed')"
	case webhook.Delivered:
		where += " AND a.ended = 'delivered'"
	}
	if where != "" {
		where = " WHERE" + strings.TrimPrefix(where, " AND")
	}
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.Delivery, error) {
		d := new(webhook.Delivery)
		return d, scanDelivery(d, scan)
	}, "SELECT "+deliveryColumns+deliveryTables+where+" ORDER BY d.id DESC LIMIT $1", args...)
}

// Delivery returns a delivery with its body.
func (q Queries) Delivery(ctx context.Context, id string) (*webhook.Delivery, error) {
	return db.First(db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.Delivery, error) {
		d := new(webhook.Delivery)
		return d, scanDelivery(d, scan, &d.Body)
	}, "SELECT "+deliveryColumns+", d.body"+deliveryTables+" WHERE d.id = $1", id))
}

func scanDelivery(d *webhook.Delivery, scan db.Scanner, more ...any) error {
	var ended webhook.Status
	var number sql.NullInt64
	var at, next time.Time
	err := scan(append([]any{
		&d.ID, &d.EndpointID, &d.AccountID, &d.Environment, column.Text(&d.OrderID), &d.Event, column.Time(&d.CreatedAt),
		&number,
		column.Time(&at), column.Text(&ended), column.Time(&next), column.Text(&d.EndpointURL),
	}, more...)...)
	d.Attempts, d.Status = int(number.Int64), webhook.Pending
	switch {
	case ended != "":
		d.Status, d.FinishedAt = ended, at
	case !next.IsZero():
		d.NextAttemptAt = next
	default:
		d.NextAttemptAt = d.CreatedAt
	}
	return err
}

// FailedDeliveries returns up to limit deliveries that failed at the time or later, oldest first, from those that the
// filter chooses; its Status and Before are not looked at. after is the id of the last one of the previous call.
func (q Queries) FailedDeliveries(
	ctx context.Context, f webhook.DeliveryFilter, since time.Time, after string, limit int,
) ([]string, error) {
	return db.Column[string](ctx, q.db, `SELECT a.delivery_id FROM delivery_attempts a
		JOIN deliveries d ON d.id = a.delivery_id WHERE a.ended = 'failed' AND a.at >= $1 AND a.delivery_id > $2
		AND ($3 = '' OR d.account_id = $3) AND ($4 = '' OR d.environment = $4) AND ($5 = '' OR d.endpoint_id = $5)
		AND ($6 = '' OR d.order_id = $6) ORDER BY a.delivery_id LIMIT $7`,
		column.Micros(since), after, f.AccountID, string(f.Environment), f.EndpointID, f.OrderID, limit)
}

// Redeliver makes a delivery that has ended pending again, due at once and with all attempts before it. It returns
// ErrNotFound when there is no such delivery, when it is pending, or when its endpoint gets nothing any more.
func (t *Tx) Redeliver(id string, now time.Time) error {
	// The lock keeps it from being deleted while it gets into the queue.
	endpointID, err := db.Value[string](t.Context(), t.db.Queries, `SELECT endpoint_id FROM deliveries WHERE id = $1
		AND EXISTS (SELECT 1 FROM webhook_endpoints e JOIN api_keys k ON k.id = e.api_key_id
		WHERE e.id = deliveries.endpoint_id AND k.revoked_at IS NULL)`+t.db.Dialect.ForUpdate, id)
	if err != nil {
		return err
	}
	attempts, err := db.Value[int](t.Context(), t.db.Queries, `UPDATE delivery_attempts SET ended = '', next_at = $2
		WHERE delivery_id = $1 AND ended <> '' RETURNING number`, id, column.Micros(now))
	if err != nil {
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
	if err := q.db.Row(ctx, `SELECT COUNT(*), COALESCE(MIN(delivery_id), '') FROM (SELECT delivery_id
		FROM delivery_queue WHERE endpoint_id IN (
		SELECT id FROM webhook_endpoints WHERE account_id = $1 AND environment = $2) LIMIT $3) AS found`,
		[]any{accountID, string(env), limit}, &n, &first); err != nil || n == 0 {
		return n, time.Time{}, err
	}
	var created int64
	err = q.db.Row(ctx, "SELECT created_at FROM deliveries WHERE id = $1", []any{first}, &created)
	if errors.Is(err, ErrNotFound) { // it has ended and gone meanwhile
		return n, time.Time{}, nil
	}
	return n, column.TimeOf(created), err
}

// Attempts returns the attempts on a delivery that are still kept, in their order.
func (q Queries) Attempts(ctx context.Context, deliveryID string) ([]webhook.Attempt, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (a webhook.Attempt, err error) {
		var duration int64
		err = scan(&a.DeliveryID, &a.Number, column.Time(&a.At), &duration, &a.HTTPStatus, &a.Failure, &a.Answer,
			&a.Headers)
		a.Duration = time.Duration(duration) * time.Microsecond
		return a, err
	}, "SELECT "+attemptColumns+`, headers FROM delivery_attempts WHERE delivery_id = $1 AND kept = 1
		ORDER BY number`, deliveryID)
}
