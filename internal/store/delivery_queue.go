package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
)

// enqueue makes a delivery pending; attempts is how many were made before.
func (t *Tx) enqueue(deliveryID, endpointID string, attempts int, due time.Time) error {
	_, err := t.exec(`INSERT INTO delivery_queue (endpoint_id, due_at, delivery_id, failures, attempts)
			VALUES ($1, $2, $3, 0, $4)`,
		endpointID, micros(due), deliveryID, attempts)
	return err
}

// QueueHead tells about the queue of an endpoint: when its first delivery is due, and the last one of those that are
// due now; the zero time if none is.
type QueueHead struct {
	EndpointID string
	DueAt      time.Time
	LastDueAt  time.Time
}

// queueHeads jumps from endpoint to endpoint in the index: it costs a few steps for each endpoint that has pending
// deliveries, however many they are.
const queueHeads = `WITH RECURSIVE waiting (endpoint_id) AS (
		SELECT MIN(endpoint_id) FROM delivery_queue
		UNION ALL
		SELECT (SELECT MIN(q.endpoint_id) FROM delivery_queue q WHERE q.endpoint_id > waiting.endpoint_id)
		FROM waiting WHERE waiting.endpoint_id IS NOT NULL)
	SELECT endpoint_id, (SELECT MIN(q.due_at) FROM delivery_queue q WHERE q.endpoint_id = waiting.endpoint_id),
		(SELECT MAX(q.due_at) FROM delivery_queue q WHERE q.endpoint_id = waiting.endpoint_id AND q.due_at <= $1)
		FROM waiting WHERE endpoint_id IS NOT NULL`

// QueueHeads returns the head of the queue of each endpoint that has pending deliveries.
func (q Queries) QueueHeads(ctx context.Context, now time.Time) ([]QueueHead, error) {
	var heads []QueueHead
	err := q.rows(ctx, queueHeads, []any{micros(now)}, func(scan func(...any) error) error {
		var h QueueHead
		var due, last sql.NullInt64 // of a queue that is empty by now there is none
		err := scan(&h.EndpointID, &due, &last)
		if !due.Valid {
			return err
		}
		h.DueAt = timeOf(due.Int64)
		if last.Valid {
			h.LastDueAt = timeOf(last.Int64)
		}
		heads = append(heads, h)
		return err
	})
	return heads, err
}

// QueueState returns how many deliveries are pending, and since when the first of them is due; the time is zero when
// none is.
func (q Queries) QueueState(ctx context.Context, now time.Time) (pending int64, oldest time.Time, err error) {
	var due int64
	err = q.row(
		ctx, "SELECT COUNT(*), COALESCE(MIN(CASE WHEN due_at <= $1 THEN due_at END), 0) FROM delivery_queue",
		[]any{micros(now)}, &pending, &due,
	)
	if due > 0 {
		oldest = timeOf(due)
	}
	return pending, oldest, err
}

// Place is where a delivery stands in the queue of an endpoint; the zero place is before all.
type Place struct {
	DueAt time.Time
	ID    string
}

// QueuedDelivery is a delivery that is due.
type QueuedDelivery struct {
	Place
	Event    webhook.Event
	Body     []byte
	Failures int // attempts since it was put into the queue
	Attempts int // that were ever made
}

// dueDeliveries reads the queues from a place on, across endpoints, and keeps what is the endpoint's and due. So much
// as a condition on the endpoint makes PostgreSQL, as long as it has no statistics of the table, read and sort all that
// the endpoint has; for the same reason, the limit is part of the text.
func dueDeliveries(limit int) string {
	return `SELECT f.due_at, f.delivery_id, f.failures, f.attempts, d.event, d.body FROM (
			SELECT endpoint_id, due_at, delivery_id, failures, attempts
			FROM delivery_queue WHERE (endpoint_id, due_at, delivery_id) > ($1, $2, $3)
			ORDER BY endpoint_id, due_at, delivery_id LIMIT ` + strconv.Itoa(limit) + `) AS f
		JOIN deliveries d ON d.id = f.delivery_id WHERE f.endpoint_id = $1 AND f.due_at <= $4`
}

// DueDeliveries returns up to limit deliveries to an endpoint that are due and stand after a place, the longest waiting
// first.
func (q Queries) DueDeliveries(
	ctx context.Context, endpointID string, after Place, now time.Time, limit int,
) ([]*QueuedDelivery, error) {
	from := int64(-1)
	if after.ID != "" {
		from = micros(after.DueAt)
	}
	found := make([]*QueuedDelivery, 0, limit)
	args := []any{endpointID, from, after.ID, micros(now)}
	err := q.rows(ctx, dueDeliveries(limit), args, func(scan func(...any) error) error {
		d := new(QueuedDelivery)
		found = append(found, d)
		var due int64
		err := scan(&due, &d.ID, &d.Failures, &d.Attempts, &d.Event, &d.Body)
		d.DueAt = timeOf(due)
		return err
	})
	slices.SortFunc(
		found, func(a, b *QueuedDelivery) int { return cmp.Or(a.DueAt.Compare(b.DueAt), strings.Compare(a.ID, b.ID)) },
	)
	return found, err
}

// Receiving returns those of the endpoints that get deliveries: an endpoint that is deleted, or whose key is revoked,
// gets none.
func (q Queries) Receiving(ctx context.Context, ids []string) (map[string]*webhook.Endpoint, error) {
	receiving := make(map[string]*webhook.Endpoint, len(ids))
	return receiving, inBatches(ids, func(ids []string) error {
		found, err := q.endpoints(ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id IN "+list(1, len(ids))+`
			AND EXISTS (SELECT 1 FROM api_keys k WHERE k.id = webhook_endpoints.api_key_id
			AND k.revoked_at IS NULL)`, anys(ids)...)
		for _, e := range found {
			receiving[e.ID] = e
		}
		return err
	})
}

// batchSizes are the lengths of lists in statements: few, so that few statements are prepared, and none very long,
// because SQLite takes the longer for a parameter the more there are.
var batchSizes = [...]int{32, 8, 2, 1}

// inBatches calls f for all items in batches of these lengths.
func inBatches[T any](items []T, f func([]T) error) error {
	for _, size := range batchSizes {
		for len(items) >= size {
			if err := f(items[:size]); err != nil {
				return err
			}
			items = items[size:]
		}
	}
	return nil
}

func anys(ids []string) []any {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return args
}
