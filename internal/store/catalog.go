package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/catalog"
)

// CatalogVersion returns the number of the current catalog; 0 when none was imported.
func (q Queries) CatalogVersion(ctx context.Context) (int64, error) {
	var v int64
	err := q.row(ctx, "SELECT COALESCE(MAX(version), 0) FROM catalog_versions", nil, &v)
	return v, err
}

// CatalogDocument returns the current catalog document and its version, or ErrNotFound.
func (q Queries) CatalogDocument(ctx context.Context) (document string, version int64, err error) {
	err = q.row(ctx, "SELECT document, version FROM catalog_versions ORDER BY version DESC LIMIT 1", nil, &document, &version)
	return document, version, err
}

// InsertCatalog makes the document the current catalog and returns its version.
func (t *Tx) InsertCatalog(document string, at time.Time) (int64, error) {
	var version int64
	err := t.row(t.ctx, `INSERT INTO catalog_versions (version, document, created_at)
		SELECT COALESCE(MAX(version), 0) + 1, $1, $2 FROM catalog_versions RETURNING version`, []any{document, micros(at)}, &version)
	return version, err
}

// OpenOrders counts the Live orders that hold capacity of an answer time, as far as limit, and the earliest due date
// among them. Its cost is bounded by the limit.
func (q Queries) OpenOrders(ctx context.Context, answerTime, limit int) (catalog.Load, error) {
	var load catalog.Load
	err := q.rows(ctx, `SELECT due_at FROM orders WHERE environment = 'live' AND status IN ('queued', 'processing') AND answer_time = $1
		ORDER BY due_at LIMIT CAST($2 AS BIGINT)`, []any{answerTime, limit}, func(scan func(...any) error) error {
		var due int64
		if err := scan(&due); err != nil {
			return err
		}
		if load.OpenOrders++; load.OpenOrders == 1 {
			load.EarliestDue = timeOf(due)
		}
		return nil
	})
	return load, err
}

// LockAnswerTime makes transactions that could exceed an answer time's capacity run one after the other.
func (t *Tx) LockAnswerTime(answerTime int) error {
	_, err := t.exec(`INSERT INTO answer_time_turns (answer_time, turns) VALUES ($1, 1)
		ON CONFLICT (answer_time) DO UPDATE SET turns = answer_time_turns.turns + 1`, answerTime)
	return err
}
