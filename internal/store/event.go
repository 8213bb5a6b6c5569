package store

import (
	"context"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/partition"
)

// InsertEvent stores an event and gives it the next position of its tenant. The row that it is taken from stays locked
// until the transaction ends: what takes a later position is committed later.
func (t *Tx) InsertEvent(e *webhook.OrderEvent) error {
	seq, err := db.Value[int64](t.Context(), t.db.Queries, `UPDATE balances SET events = events + 1
		WHERE account_id = $1 AND environment = $2 RETURNING events`, e.AccountID, string(e.Environment))
	if err != nil {
		return err
	}
	e.Position = webhook.Cursor(seq)
	return t.db.Insert("events (api_key_id, seq, order_id, event, delivery_ids, body, created_at)", e.APIKeyID, seq,
		e.OrderID, string(e.Event), strings.Join(e.DeliveryIDs, " "), string(e.Body), column.Micros(e.CreatedAt))
}

// Events returns up to limit events of the orders of a key that follow the cursor, oldest first.
func (q Queries) Events(
	ctx context.Context, keyID string, after webhook.Cursor, limit int,
) ([]*webhook.OrderEvent, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*webhook.OrderEvent, error) {
		e := &webhook.OrderEvent{APIKeyID: keyID}
		var deliveries string
		err := scan(&e.Position, &e.OrderID, &e.Event, &deliveries, &e.Body, column.Time(&e.CreatedAt))
		e.DeliveryIDs = strings.Fields(deliveries)
		return e, err
	}, `SELECT seq, order_id, event, delivery_ids, body, created_at FROM events
		WHERE api_key_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`, keyID, int64(after), limit)
}

// EventsGone returns the position of the last event of a key's orders that is not kept any more; 0 when all are.
func (q Queries) EventsGone(ctx context.Context, keyID string) (webhook.Cursor, error) {
	return db.Value[webhook.Cursor](ctx, q.db, "SELECT events_gone FROM api_keys WHERE id = $1", keyID)
}

// LastEventBefore returns the position of the last event of a key's orders from before the time; 0 when there is none.
func (q Queries) LastEventBefore(ctx context.Context, keyID string, before time.Time) (webhook.Cursor, error) {
	return db.Value[webhook.Cursor](ctx, q.db,
		"SELECT COALESCE(MAX(seq), 0) FROM events WHERE api_key_id = $1 AND created_at < $2", keyID, column.Micros(before))
}

// LastEvent returns the position of the last event of a tenant.
func (q Queries) LastEvent(ctx context.Context, t access.Tenant) (webhook.Cursor, error) {
	return db.Value[webhook.Cursor](ctx, q.db, "SELECT events FROM balances WHERE account_id = $1 AND environment = $2",
		t.AccountID, string(t.Environment))
}

// HasEvents reports whether there are events from before the time that DeleteOldEvents would delete.
func (q Queries) HasEvents(ctx context.Context, before time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM "+partition.Rest(q.db.Dialect, "events")+" WHERE created_at < $1", column.Micros(before))
}

// DeleteOldEvents deletes up to limit events from before the time, the oldest first, and returns how many. Their keys
// remember it. In PostgreSQL those are deleted that belong to no part; the others go with it, see DropOld.
func (t *Tx) DeleteOldEvents(before time.Time, limit int) (int, error) {
	type place struct {
		keyID string
		seq   int64
	}
	gone, err := db.Collect(t.Context(), t.db.Queries, func(scan db.Scanner) (p place, err error) {
		err = scan(&p.keyID, &p.seq)
		return p, err
	}, "SELECT api_key_id, seq FROM "+partition.Rest(t.db.Dialect, "events")+` WHERE created_at < $1
		ORDER BY created_at, api_key_id, seq LIMIT $2`, column.Micros(before), limit)
	if err != nil {
		return 0, err
	}
	for _, p := range gone {
		if err := t.db.One("DELETE FROM "+partition.Rest(t.db.Dialect, "events")+" WHERE api_key_id = $1 AND seq = $2",
			p.keyID, p.seq); err != nil {
			return 0, err
		}
		const forget = "UPDATE api_keys SET events_gone = $1 WHERE id = $2 AND events_gone < $1"
		if _, err := t.db.Exec(forget, p.seq, p.keyID); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}
