package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// AgedPortalLogs returns up to limit accounts whose log of the portal begins before the time.
func (q Queries) AgedPortalLogs(ctx context.Context, before time.Time, limit int) ([]string, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (id string, err error) { return id, scan(&id) },
		"SELECT DISTINCT account_id FROM portal_events WHERE at < $1 ORDER BY account_id LIMIT $2", column.Micros(before),
		limit)
}

// TrimPortalLog removes up to limit of the first entries of an account's log of the portal that are older than the
// time, and writes an entry that says so: the chain then begins behind them, and nobody can shorten it without a trace.
func (t *Tx) TrimPortalLog(accountID string, before, now time.Time, limit int) (n int64, err error) {
	var gone int64
	if err := t.db.Row(t.Context(), "UPDATE accounts SET portal_gone = portal_gone WHERE id = $1 RETURNING portal_gone",
		[]any{accountID}, &gone); err != nil {
		return 0, err
	}
	// The entries before the first that is to be kept, whatever the clocks of several nodes were.
	keep, err := db.Value[int64](t.Context(), t.db.Queries, `SELECT COALESCE(MIN(seq), 0) FROM portal_events
		WHERE account_id = $1 AND at >= $2`, accountID, column.Micros(before))
	if err != nil {
		return 0, err
	}
	last := gone + int64(limit)
	if keep > 0 {
		last = min(last, keep-1)
	}
	trimmed := audit.Head{Chain: audit.PortalTrimmed, AccountID: accountID}
	err = t.db.Row(t.Context(), `SELECT seq, hash FROM portal_events WHERE account_id = $1 AND seq <= $2
		ORDER BY seq DESC LIMIT 1`, []any{accountID, last}, &trimmed.Number, &trimmed.Hash)
	if err != nil {
		return 0, err
	}
	if n, err = t.db.Exec("DELETE FROM portal_events WHERE account_id = $1 AND seq <= $2", accountID,
		trimmed.Number); err != nil {
		return 0, err
	}
	if err := t.db.One("UPDATE accounts SET portal_gone = $1, portal_anchor = $2 WHERE id = $3", trimmed.Number,
		t.chain.SealHead(&trimmed), accountID); err != nil {
		return 0, err
	}
	return n, t.appendEvent(audit.PortalLog, &audit.Event{
		AccountID: accountID, At: now, Code: audit.LogTrimmed,
		Actor:    audit.Actor{Type: audit.BySystem, Name: "system", Source: audit.FromSystem},
		Target:   audit.Target{Type: audit.OnLog},
		Metadata: map[string]any{"through": trimmed.Number},
	})
}
