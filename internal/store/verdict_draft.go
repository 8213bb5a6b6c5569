package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// SaveVerdictDraft stores what a staff user has entered for an order as the version that follows another, and reports
// whether that other one still was the latest.
func (t *Tx) SaveVerdictDraft(orderID, staffID, draft string, follows int64, now time.Time) (bool, error) {
	return t.changed(`INSERT INTO verdict_drafts (order_id, staff_id, version, draft, updated_at)
		VALUES ($1, $2, CAST($3 AS BIGINT) + 1, $4, $5)
		ON CONFLICT (order_id, staff_id) DO UPDATE
		SET version = excluded.version, draft = excluded.draft, updated_at = excluded.updated_at
		WHERE verdict_drafts.version = $3`, orderID, staffID, follows, draft, column.Micros(now))
}

const (
	draftColumns = "SELECT d.staff_id, s.name, d.version, d.draft, d.updated_at " +
		"FROM verdict_drafts d JOIN staff s ON s.id = d.staff_id "
	verdictDraft    = draftColumns + "WHERE d.order_id = $1 AND d.staff_id = $2"
	colleaguesDraft = draftColumns + "WHERE d.order_id = $1 AND d.staff_id <> $2 ORDER BY d.updated_at DESC LIMIT 1"
)

// VerdictDraft returns what a staff user has entered for an order, or ErrNotFound.
func (q Queries) VerdictDraft(ctx context.Context, orderID, staffID string) (*order.KeptDraft, error) {
	return db.First(db.Collect(ctx, q.db, readDraft, verdictDraft, orderID, staffID))
}

// ColleaguesDraft returns what anybody but a staff user has entered last for an order, or ErrNotFound.
func (q Queries) ColleaguesDraft(ctx context.Context, orderID, staffID string) (*order.KeptDraft, error) {
	return db.First(db.Collect(ctx, q.db, readDraft, colleaguesDraft, orderID, staffID))
}

func readDraft(scan db.Scanner) (*order.KeptDraft, error) {
	d := new(order.KeptDraft)
	var entered string
	if err := scan(&d.StaffID, &d.StaffName, &d.Version, &entered, column.Time(&d.UpdatedAt)); err != nil {
		return nil, err
	}
	return d, json.Unmarshal([]byte(entered), &d.VerdictDraft)
}

// DeleteVerdictDrafts deletes what was entered for an order and not sent, except by one, whose checklist is part of how
// the verdict came about.
func (t *Tx) DeleteVerdictDrafts(orderID, exceptStaffID string) error {
	return t.exec("DELETE FROM verdict_drafts WHERE order_id = $1 AND staff_id <> $2", orderID, exceptStaffID)
}
