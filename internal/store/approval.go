package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

const approvalColumns = `id, kind, account_id, target_id, target_name, deed, requested_by, requester, requested_at,
	expires_at, status, decided_by, decider, decided_at`

// InsertApproval stores a request for approval.
func (t *Tx) InsertApproval(a *access.Approval) error {
	payload, err := json.Marshal(a.Payload)
	if err != nil {
		return err
	}
	return t.db.Insert("approvals ("+approvalColumns+")", a.ID, string(a.Kind), column.TextOrNull(a.AccountID), a.TargetID,
		a.TargetName, string(payload), a.RequestedBy, a.Requester, column.Micros(a.RequestedAt), column.Micros(a.ExpiresAt),
		string(a.Status), nil, nil, nil)
}

// DecideApproval ends an open request that has not expired and returns it, or ErrNotFound. Of two who decide at the
// same moment one succeeds.
func (t *Tx) DecideApproval(
	id string, status access.ApprovalStatus, staffID, name string, now time.Time,
) (*access.Approval, error) {
	return db.First(db.Collect(t.Context(), t.db.Queries, scanApproval,
		`UPDATE approvals SET status = $1, decided_by = $2, decider = $3,
		decided_at = $4 WHERE id = $5 AND status = 'open' AND expires_at > $4 RETURNING `+approvalColumns,
		string(status), column.TextOrNull(staffID), column.TextOrNull(name), column.Micros(now), id))
}

// ExpireApprovals ends up to limit open requests whose time is over, and returns them. One that is decided meanwhile
// stays so: PostgreSQL asks again whether it is open when it has waited for the decision.
func (t *Tx) ExpireApprovals(now time.Time, limit int) ([]*access.Approval, error) {
	return db.Collect(t.Context(), t.db.Queries, scanApproval, `UPDATE approvals SET status = 'expired', decided_at = $1
		WHERE id IN (SELECT id FROM approvals WHERE status = 'open' AND expires_at <= $1 ORDER BY expires_at LIMIT $2)
		AND status = 'open' RETURNING `+approvalColumns, column.Micros(now), limit)
}

// HasExpiredApprovals reports whether an open request's time is over.
func (q Queries) HasExpiredApprovals(ctx context.Context, now time.Time) (bool, error) {
	return q.db.Exists(ctx, "FROM approvals WHERE status = 'open' AND expires_at <= $1", column.Micros(now))
}

// WithdrawApprovalsOf ends the open requests of a staff user who may not ask any more.
func (t *Tx) WithdrawApprovalsOf(staffID string, now time.Time) error {
	return t.exec(`UPDATE approvals SET status = 'withdrawn', decided_at = $1 WHERE requested_by = $2
		AND status = 'open'`, column.Micros(now), staffID)
}

// Approval returns a request.
func (q Queries) Approval(ctx context.Context, id string) (*access.Approval, error) {
	return db.First(db.Collect(ctx, q.db, scanApproval, "SELECT "+approvalColumns+" FROM approvals WHERE id = $1", id))
}

// Approvals returns the requests that are open, the oldest first, and up to limit of those that are not, the newest
// first.
func (q Queries) Approvals(ctx context.Context, limit int) (open, ended []*access.Approval, err error) {
	open, err = db.Collect(ctx, q.db, scanApproval, "SELECT "+approvalColumns+
		" FROM approvals WHERE status = 'open' ORDER BY requested_at, id")
	if err != nil {
		return nil, nil, err
	}
	ended, err = db.Collect(ctx, q.db, scanApproval, "SELECT "+approvalColumns+
		" FROM approvals WHERE status <> 'open' ORDER BY decided_at DESC, id DESC LIMIT $1", limit)
	return open, ended, err
}

// CountOpenApprovals returns how many requests a staff user could decide.
func (q Queries) CountOpenApprovals(ctx context.Context, staffID string, now time.Time) (int64, error) {
	return db.Value[int64](ctx, q.db, `SELECT COUNT(*) FROM approvals WHERE status = 'open' AND expires_at > $1
		AND requested_by <> $2`, column.Micros(now), staffID)
}

func scanApproval(scan db.Scanner) (*access.Approval, error) {
	a := new(access.Approval)
	var payload string
	if err := scan(&a.ID, &a.Kind, column.Text(&a.AccountID), &a.TargetID, &a.TargetName, &payload, &a.RequestedBy,
		&a.Requester,
		column.Time(&a.RequestedAt), column.Time(&a.ExpiresAt), &a.Status, column.Text(&a.DecidedBy), column.Text(&a.Decider),
		column.TimeOrNil(&a.DecidedAt)); err != nil {
		return nil, err
	}
	return a, json.Unmarshal([]byte(payload), &a.Payload)
}
