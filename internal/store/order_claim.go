package store

import (
	"context"
	"errors"
	"time"
)

const nextQueued = `SELECT id FROM orders WHERE environment = 'live' AND status = 'queued'
	ORDER BY ` + dueKey + ", id LIMIT 1"

// NextQueued returns the id of the queued Live order with the earliest due date that no other transaction is about to
// take, or ErrNotFound.
func (t *Tx) NextQueued() (string, error) {
	var id string
	err := t.row(t.ctx, nextQueued+t.d.skipLocked, nil, &id)
	return id, err
}

// StaleClaims returns up to limit Live orders whose assignee has done nothing since the time, the longest idle first.
func (q Queries) StaleClaims(ctx context.Context, since time.Time, limit int) ([]string, error) {
	return q.orderIDs(ctx, `SELECT id FROM orders WHERE environment = 'live' AND status = 'processing' AND claimed_at <= $1
		ORDER BY claimed_at LIMIT $2`, micros(since), limit)
}

// ClaimsOf returns the Live orders that a staff user holds.
func (q Queries) ClaimsOf(ctx context.Context, staffID string) ([]string, error) {
	return q.orderIDs(ctx, `SELECT id FROM orders WHERE assignee_id = $1 AND environment = 'live' AND status = 'processing'
		ORDER BY `+dueKey+", id", staffID)
}

func (q Queries) orderIDs(ctx context.Context, text string, args ...any) ([]string, error) {
	var ids []string
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// TouchClaim records activity of the assignee of an order, unless some was recorded after the time noted.
func (t *Tx) TouchClaim(orderID, staffID string, now, noted time.Time) error {
	err := t.one(`UPDATE orders SET claimed_at = $1 WHERE id = $2 AND assignee_id = $3 AND status = 'processing'
		AND claimed_at <= $4`, micros(now), orderID, staffID, micros(noted))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// UnansweredOrders returns up to limit Live orders whose photo request has stood since the time, the oldest first.
func (q Queries) UnansweredOrders(ctx context.Context, since time.Time, limit int) ([]string, error) {
	return q.orderIDs(ctx, `SELECT id FROM orders WHERE environment = 'live' AND status = 'update-photos'
		AND updated_at <= $1 ORDER BY updated_at LIMIT $2`, micros(since), limit)
}

// SaveVerdictDraft stores what a staff user has entered for an order, replacing their earlier draft.
func (t *Tx) SaveVerdictDraft(orderID, staffID, draft string, now time.Time) error {
	_, err := t.exec(`INSERT INTO verdict_drafts (order_id, staff_id, draft, updated_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (order_id, staff_id) DO UPDATE SET draft = excluded.draft, updated_at = excluded.updated_at`,
		orderID, staffID, draft, micros(now))
	return err
}

const verdictDraft = "SELECT draft FROM verdict_drafts WHERE order_id = $1 AND staff_id = $2"

// VerdictDraft returns what a staff user has entered for an order, or ErrNotFound.
func (q Queries) VerdictDraft(ctx context.Context, orderID, staffID string) (draft string, err error) {
	err = q.row(ctx, verdictDraft, []any{orderID, staffID}, &draft)
	return draft, err
}
