package store

import (
	"context"
	"database/sql"
	"slices"
	"time"

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

// DropPendingDeliveries removes up to limit of the deliveries to an endpoint that are still to be sent, and returns how
// many. Only those that it has read go: one that is queued meanwhile is found the next time. Tables are written in the
// order in which an event, an erasure and the end of a partition take them.
func (t *Tx) DropPendingDeliveries(endpointID string, limit int) (int, error) {
	var first, last int64 // due
	ids, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (id string, err error) {
		var due int64
		if err = scan(&due, &id); first == 0 {
			first = due
		}
		last = due
		return id, err
	}, `SELECT due_at, delivery_id FROM delivery_queue WHERE endpoint_id = $1
		ORDER BY endpoint_id, due_at, delivery_id LIMIT $2`, endpointID, limit)
	if err != nil {
		return 0, err
	}
	slices.Sort(ids)
	var commands []db.Command
	for some := range db.Batches(ids) {
		list, args := db.List(1, len(some)), db.Anys(some)
		commands = append(commands,
			db.Command{Text: "DELETE FROM deliveries WHERE id IN " + list, Args: args},
			db.Command{
				Text: "DELETE FROM delivery_queue WHERE endpoint_id = $1 AND due_at >= $2 AND due_at <= $3 AND delivery_id IN " +
					db.List(4, len(some)), Args: append([]any{endpointID, first, last}, args...),
			},
			db.Command{Text: "DELETE FROM delivery_attempts WHERE delivery_id IN " + list, Args: args})
	}
	return len(ids), t.db.Batch(commands, false)
}

const deliveryColumns = `d.id, d.endpoint_id, d.account_id, d.environment, d.order_id, d.event, d.created_at,
	a.number, a.at, a.ended, a.next_at, e.url`

// deliveryTables joins a delivery with its last attempt, which tells how it stands. PostgreSQL is made to look up each:
// for a join, it might read all attempts.
func deliveryTables(dialect *db.Dialect) string {
	last := `delivery_attempts a ON a.delivery_id = d.id
		AND a.number = (SELECT MAX(m.number) FROM delivery_attempts m WHERE m.delivery_id = d.id)`
	if dialect == &db.Postgres {
		last = `LATERAL (SELECT number, at, ended, next_at FROM delivery_attempts WHERE delivery_id = d.id
			ORDER BY number DESC LIMIT 1) a ON TRUE`
	}
	return " FROM deliveries d LEFT JOIN " + last + " LEFT JOIN webhook_endpoints e ON e.id = d.endpoint_id"
}

// shownDelivery keeps back those that are never sent, because their endpoint is deleted or its key revoked: the sender
// is about to drop them.
const shownDelivery = ` (a.ended <> '' OR EXISTS (SELECT 1 FROM api_keys k
	WHERE k.id = e.api_key_id AND k.revoked_at IS NULL))`

// Delivery returns a delivery with its body.
func (q Queries) Delivery(ctx context.Context, id string) (*webhook.Delivery, error) {
	return db.First(db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.Delivery, error) {
		d := new(webhook.Delivery)
		return d, scanDelivery(d, scan, &d.Body)
	}, "SELECT "+deliveryColumns+", d.body"+deliveryTables(q.db.Dialect)+" WHERE d.id = $1 AND"+shownDelivery, id))
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
	attempts, err := db.Value[int](t.Context(), t.db.Queries, `UPDATE delivery_attempts SET ended = '', next_at = $2,
		failed_tenant = NULL, failed_endpoint = NULL WHERE delivery_id = $1 AND ended <> '' RETURNING number`,
		id, column.Micros(now))
	if err != nil {
		return err
	}
	return t.enqueue(id, endpointID, attempts, now)
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
