package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

const approvalColumns = `id, kind, account_id, target_id, target_name, deed, requested_by, requester, requested_at,
	expires_at, status, decided_by, decider, decided_at`

// InsertApproval stores a request for approval.
func (t *Tx) InsertApproval(a *access.Approval) error {
	deed, err := json.Marshal(a.Deed)
	if err != nil {
		return err
	}
	return t.insert("approvals ("+approvalColumns+")", a.ID, string(a.Kind), textOrNull(a.AccountID), a.TargetID,
		a.TargetName, string(deed), a.RequestedBy, a.Requester, micros(a.RequestedAt), micros(a.ExpiresAt),
		string(a.Status), nil, nil, nil)
}

// DecideApproval ends an open request that has not expired and returns it, or ErrNotFound. Of two who decide at the
// same moment one succeeds.
func (t *Tx) DecideApproval(
	id string, status access.ApprovalStatus, staffID, name string, now time.Time,
) (*access.Approval, error) {
	return first(collect(t.ctx, t.Queries, scanApproval, `UPDATE approvals SET status = $1, decided_by = $2, decider = $3,
		decided_at = $4 WHERE id = $5 AND status = 'open' AND expires_at > $4 RETURNING `+approvalColumns,
		string(status), textOrNull(staffID), textOrNull(name), micros(now), id))
}

// ExpireApprovals ends up to limit open requests whose time is over, and returns them.
func (t *Tx) ExpireApprovals(now time.Time, limit int) ([]*access.Approval, error) {
	return collect(t.ctx, t.Queries, scanApproval, `UPDATE approvals SET status = 'expired', decided_at = $1
		WHERE id IN (SELECT id FROM approvals WHERE status = 'open' AND expires_at <= $1 ORDER BY expires_at LIMIT $2)
		RETURNING `+approvalColumns, micros(now), limit)
}

// HasExpiredApprovals reports whether an open request's time is over.
func (q Queries) HasExpiredApprovals(ctx context.Context, now time.Time) (bool, error) {
	n, err := value[int64](ctx, q, `SELECT COUNT(*) FROM (SELECT 1 FROM approvals WHERE status = 'open'
		AND expires_at <= $1 LIMIT 1) AS due`, micros(now))
	return n > 0, err
}

// WithdrawApprovalsOf ends the open requests of a staff user who may not ask any more.
func (t *Tx) WithdrawApprovalsOf(staffID string, now time.Time) error {
	_, err := t.exec(`UPDATE approvals SET status = 'withdrawn', decided_at = $1 WHERE requested_by = $2
		AND status = 'open'`, micros(now), staffID)
	return err
}

// Approval returns a request.
func (q Queries) Approval(ctx context.Context, id string) (*access.Approval, error) {
	return first(collect(ctx, q, scanApproval, "SELECT "+approvalColumns+" FROM approvals WHERE id = $1", id))
}

// Approvals returns the requests that are open, the oldest first, and up to limit of those that are not, the newest
// first.
func (q Queries) Approvals(ctx context.Context, limit int) (open, ended []*access.Approval, err error) {
	open, err = collect(ctx, q, scanApproval, "SELECT "+approvalColumns+
		" FROM approvals WHERE status = 'open' ORDER BY requested_at, id")
	if err != nil {
		return nil, nil, err
	}
	ended, err = collect(ctx, q, scanApproval, "SELECT "+approvalColumns+
		" FROM approvals WHERE status <> 'open' ORDER BY decided_at DESC, id DESC LIMIT $1", limit)
	return open, ended, err
}

// CountOpenApprovals returns how many requests a staff user could decide.
func (q Queries) CountOpenApprovals(ctx context.Context, staffID string, now time.Time) (int64, error) {
	return value[int64](ctx, q, `SELECT COUNT(*) FROM approvals WHERE status = 'open' AND expires_at > $1
		AND requested_by <> $2`, micros(now), staffID)
}

func scanApproval(scan scanner) (*access.Approval, error) {
	a := new(access.Approval)
	var deed string
	if err := scan(&a.ID, &a.Kind, asText(&a.AccountID), &a.TargetID, &a.TargetName, &deed, &a.RequestedBy, &a.Requester,
		asTime(&a.RequestedAt), asTime(&a.ExpiresAt), &a.Status, asText(&a.DecidedBy), asText(&a.Decider),
		asTimeOrNil(&a.DecidedAt)); err != nil {
		return nil, err
	}
	return a, json.Unmarshal([]byte(deed), &a.Deed)
}
