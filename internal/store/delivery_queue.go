package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// enqueue makes a delivery pending; attempts is how many were made before.
func (t *Tx) enqueue(deliveryID, endpointID string, attempts int, due time.Time) error {
	return t.db.Insert("delivery_queue (endpoint_id, due_at, delivery_id, failures, attempts)",
		endpointID, column.Micros(due), deliveryID, 0, attempts)
}

// QueueHead tells about the queue of an endpoint: when its first delivery is due, and the last one of those that are
// due now; the zero time if none is. FarthestAt is when its last delivery is due.
type QueueHead struct {
	EndpointID string
	DueAt      time.Time
	LastDueAt  time.Time
	FarthestAt time.Time
}

// queueHeads jumps from endpoint to endpoint in the index: it costs a few steps for each endpoint that has pending
// deliveries, however many they are. With MIN and MAX, PostgreSQL might read them all.
const queueHeads = `WITH RECURSIVE waiting (endpoint_id) AS (
		SELECT (SELECT q.endpoint_id FROM delivery_queue q WHERE q.endpoint_id > '' ORDER BY q.endpoint_id LIMIT 1)
		UNION ALL
		SELECT (SELECT q.endpoint_id FROM delivery_queue q WHERE q.endpoint_id > waiting.endpoint_id
			ORDER BY q.endpoint_id LIMIT 1)
		FROM waiting WHERE waiting.endpoint_id IS NOT NULL)
	SELECT endpoint_id,
		(SELECT q.due_at FROM delivery_queue q WHERE q.endpoint_id = waiting.endpoint_id ORDER BY q.due_at LIMIT 1),
		(SELECT q.due_at FROM delivery_queue q WHERE q.endpoint_id = waiting.endpoint_id AND q.due_at <= $1
			ORDER BY q.due_at DESC LIMIT 1),
		(SELECT q.due_at FROM delivery_queue q WHERE q.endpoint_id = waiting.endpoint_id ORDER BY q.due_at DESC LIMIT 1)
		FROM waiting WHERE endpoint_id IS NOT NULL`

// QueueHeads returns the head of the queue of each endpoint that has pending deliveries.
func (q Queries) QueueHeads(ctx context.Context, now time.Time) ([]QueueHead, error) {
	heads, err := db.Collect(ctx, q.db, func(scan db.Scanner) (h QueueHead, err error) {
		err = scan(&h.EndpointID, column.Time(&h.DueAt), column.Time(&h.LastDueAt), column.Time(&h.FarthestAt))
		return h, err
	}, queueHeads, column.Micros(now))
	// A queue that is empty by now has no due time.
	return slices.DeleteFunc(heads, func(h QueueHead) bool { return h.DueAt.IsZero() }), err
}

// PullDeliveries makes deliveries to an endpoint due at a time that are only due after another one, which a clock that
// was wrong must have set, except those that the sender holds.
func (t *Tx) PullDeliveries(endpointID string, due, after time.Time, except []string) error {
	args := db.Arguments{endpointID, column.Micros(due), column.Micros(after)}
	not := ""
	for _, id := range except {
		not += " AND delivery_id <> " + args.Add(id)
	}
	_, err := t.db.Exec("UPDATE delivery_queue SET due_at = $2 WHERE endpoint_id = $1 AND due_at > $3"+not, args...)
	return err
}

// QueueState returns how many deliveries are pending, and since when the first of them is due; the time is zero when
// none is. Those of a paused endpoint are not due.
func (q Queries) QueueState(ctx context.Context, now time.Time) (pending int64, oldest time.Time, err error) {
	err = q.db.Row(ctx, `SELECT COUNT(*), MIN(CASE WHEN due_at <= $1 AND endpoint_id NOT IN (
			SELECT id FROM webhook_endpoints WHERE paused_at IS NOT NULL) THEN due_at END) FROM delivery_queue`,
		[]any{column.Micros(now)}, &pending, column.Time(&oldest))
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
	Trace    string // traceparent of what caused it; empty: not traced
	Failures int    // attempts since it was put into the queue
	Attempts int    // that were ever made
	Row      string // where PostgreSQL has the place in its table; empty for SQLite
}

// dueDeliveries reads the queues from a place on, across endpoints, and keeps what is the endpoint's and due. So much
// as a condition on the endpoint makes PostgreSQL, as long as it has no statistics of the table, read and sort all that
// the endpoint has; for the same reason, the limit is part of the text, and each delivery is looked up apart. A place
// whose delivery is gone has no event.
func dueDeliveries(dialect *db.Dialect, limit int) string {
	row, join := "''", "deliveries d ON d.id = f.delivery_id"
	if dialect == &db.Postgres {
		row = "CAST(ctid AS TEXT)"
		join = "LATERAL (SELECT event, body, trace FROM deliveries WHERE id = f.delivery_id LIMIT 1) d ON TRUE"
	}
	return `SELECT f.due_at, f.delivery_id, f.failures, f.attempts, d.event, d.body, COALESCE(d.trace, ''), f.place FROM (
			SELECT endpoint_id, due_at, delivery_id, failures, attempts, ` + row + ` AS place
			FROM delivery_queue WHERE (endpoint_id, due_at, delivery_id) > ($1, $2, $3)
			ORDER BY endpoint_id, due_at, delivery_id LIMIT ` + strconv.Itoa(limit) + `) AS f
		LEFT JOIN ` + join + " WHERE f.endpoint_id = $1 AND f.due_at <= $4"
}

// DueDeliveries returns up to limit deliveries to an endpoint that are due and stand after a place, the longest waiting
// first. Places whose deliveries are gone are cleared on the way: those behind them are not to wait.
func (s *Store) DueDeliveries(
	ctx context.Context, endpointID string, after Place, now time.Time, limit int,
) ([]*QueuedDelivery, error) {
	for {
		found, gone, err := s.dueDeliveries(ctx, endpointID, after, now, limit)
		if err != nil || len(gone) == 0 {
			return found, err
		}
		if err := s.Update(ctx, func(tx *Tx) error { return tx.clearPlaces(endpointID, gone) }); err != nil {
			return nil, err
		}
	}
}

// clearPlaces removes deliveries of an endpoint from the queue that are gone.
func (t *Tx) clearPlaces(endpointID string, gone []string) error {
	return db.InBatches(gone, func(ids []string) error {
		return t.exec("DELETE FROM delivery_queue WHERE endpoint_id = $1 AND delivery_id IN "+db.List(2, len(ids))+
			" AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.id = delivery_queue.delivery_id)",
			append([]any{endpointID}, db.Anys(ids)...)...)
	})
}

// dueDeliveries reads what DueDeliveries returns, and the ids of those that are gone.
func (q Queries) dueDeliveries(
	ctx context.Context, endpointID string, after Place, now time.Time, limit int,
) (found []*QueuedDelivery, gone []string, err error) {
	from := int64(-1)
	if after.ID != "" {
		from = column.Micros(after.DueAt)
	}
	found = make([]*QueuedDelivery, 0, limit)
	err = q.db.Records(ctx, dueDeliveries(q.db.Dialect, limit), []any{endpointID, from, after.ID, column.Micros(now)},
		func(r *db.Record) error {
			if r.Null(4) {
				gone = append(gone, r.Text(1))
				return nil
			}
			found = append(found, &QueuedDelivery{
				Place: Place{DueAt: r.Time(0), ID: r.Text(1)}, Failures: int(r.Integer(2)), Attempts: int(r.Integer(3)),
				Event: webhook.Event(r.Text(4)), Body: []byte(r.Text(5)), Trace: r.Text(6), Row: r.Text(7),
			})
			return nil
		})
	slices.SortFunc(found, func(a, b *QueuedDelivery) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), cmp.Compare(a.ID, b.ID))
	})
	return found, gone, err
}

// Receiving returns those of the endpoints that get deliveries: an endpoint that is deleted, or whose key is revoked,
// gets none.
func (q Queries) Receiving(ctx context.Context, ids []string) (map[string]*webhook.Endpoint, error) {
	receiving := make(map[string]*webhook.Endpoint, len(ids))
	return receiving, db.InBatches(ids, func(ids []string) error {
		found, err := q.endpoints(ctx, "SELECT "+endpointColumns+" FROM webhook_endpoints WHERE id IN "+db.List(1, len(ids))+`
			AND EXISTS (SELECT 1 FROM api_keys k WHERE k.id = webhook_endpoints.api_key_id
			AND k.revoked_at IS NULL)`, db.Anys(ids)...)
		for _, e := range found {
			receiving[e.ID] = e
		}
		return err
	})
}

// SenderSeen notes that a sender is at work, forgets those not seen since a time, and returns the ids of all in their
// order. One that was seen in the future was so by a clock that was wrong.
func (t *Tx) SenderSeen(id string, now, since time.Time) ([]string, error) {
	if _, err := t.db.Exec("DELETE FROM delivery_senders WHERE seen_at < $1 OR seen_at > $2", column.Micros(since),
		column.Micros(now.Add(now.Sub(since)))); err != nil {
		return nil, err
	}
	if _, err := t.db.Exec(`INSERT INTO delivery_senders (id, seen_at) VALUES ($1, $2)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`, id, column.Micros(now)); err != nil {
		return nil, err
	}
	return db.Column[string](t.Context(), t.db.Queries, "SELECT id FROM delivery_senders ORDER BY id")
}

// SenderGone notes that a sender has ended: others may take its queues.
func (t *Tx) SenderGone(id string) error {
	if _, err := t.db.Exec("DELETE FROM delivery_leases WHERE sender_id = $1", id); err != nil {
		return err
	}
	_, err := t.db.Exec("DELETE FROM delivery_senders WHERE id = $1", id)
	return err
}

// leaseSlack is for nodes whose leases last longer than those of others, while a setting is being changed.
const leaseSlack = time.Minute

// LeaseQueues gives a sender the queues of those endpoints that no other sender has, or that it has itself, until a
// time, and returns their ids. A lease of more than twice that time and leaseSlack was given by a clock that was wrong.
// The ids have to be sorted: senders that ask at the same time then wait for each other.
func (t *Tx) LeaseQueues(senderID string, endpointIDs []string, now, until time.Time) ([]string, error) {
	var leased []string
	err := db.InBatches(endpointIDs, func(ids []string) error {
		args := make(db.Arguments, 0, 3*len(ids)+1)
		for _, id := range ids {
			args = append(args, id, senderID, column.Micros(until))
		}
		got, err := db.Column[string](t.Context(), t.db.Queries,
			"INSERT INTO delivery_leases (endpoint_id, sender_id, lease_until) VALUES "+db.Tuples(len(ids), 3)+`
			ON CONFLICT (endpoint_id) DO UPDATE SET sender_id = excluded.sender_id, lease_until = excluded.lease_until
			WHERE delivery_leases.sender_id = excluded.sender_id
				OR delivery_leases.lease_until <= `+args.Add(column.Micros(now))+
				" OR delivery_leases.lease_until > "+args.Add(column.Micros(until.Add(until.Sub(now)+leaseSlack)))+
				" RETURNING endpoint_id", args...)
		leased = append(leased, got...)
		return err
	})
	return leased, err
}

// ReturnQueues gives up the queues of endpoints that the sender has.
func (t *Tx) ReturnQueues(senderID string, endpointIDs []string) error {
	return db.InBatches(endpointIDs, func(ids []string) error {
		_, err := t.db.Exec("DELETE FROM delivery_leases WHERE sender_id = $1 AND endpoint_id IN "+db.List(2, len(ids)),
			append([]any{senderID}, db.Anys(ids)...)...)
		return err
	})
}

// heldQueues locks the leases on the queues of the results and returns which of them the sender still has. It returns
// nil where there is one sender only, which has them all.
func (t *Tx) heldQueues(senderID string, results []AttemptResult) (map[string]bool, error) {
	if t.db.Dialect == &db.SQLite {
		return nil, nil
	}
	held := make(map[string]bool)
	var ids []string
	for i := range results {
		if id := results[i].EndpointID; !held[id] {
			held[id] = true
			ids = append(ids, id)
		}
	}
	clear(held)
	slices.Sort(ids)
	locks := make([]db.Command, 0, 1)
	for ids := range db.Batches(ids) {
		locks = append(locks, db.Command{
			Text: "SELECT endpoint_id FROM delivery_leases WHERE sender_id = $1 AND endpoint_id IN " + db.List(2, len(ids)) +
				" ORDER BY endpoint_id" + t.db.Dialect.ForUpdate,
			Args: append([]any{senderID}, db.Anys(ids)...),
			Each: func(r *db.Record) error {
				held[r.Text(0)] = true
				return nil
			},
		})
	}
	return held, t.db.Batch(locks, false)
}
