package store

import (
	"context"
	"time"
)

// SaveVerdictDraft keeps what a staff user has entered for an order, in place of what they had entered before.
func (t *Tx) SaveVerdictDraft(orderID, staffID, draft string, now time.Time) error {
	_, err := t.exec(`INSERT INTO verdict_drafts (order_id, staff_id, draft, updated_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (order_id, staff_id) DO UPDATE SET draft = excluded.draft, updated_at = excluded.updated_at`, orderID, staffID, draft, micros(now))
	return err
}

const verdictDraft = "SELECT draft FROM verdict_drafts WHERE order_id = $1 AND staff_id = $2"

// VerdictDraft returns what a staff user has entered for an order, or ErrNotFound.
func (q Queries) VerdictDraft(ctx context.Context, orderID, staffID string) (draft string, err error) {
	err = q.row(ctx, verdictDraft, []any{orderID, staffID}, &draft)
	return draft, err
}
