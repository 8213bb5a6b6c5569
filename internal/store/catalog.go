package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// CatalogVersion returns the number of the current catalog; 0 when none was imported.
func (q Queries) CatalogVersion(ctx context.Context) (int64, error) {
	return db.Value[int64](ctx, q.db, "SELECT COALESCE(MAX(version), 0) FROM catalog_versions")
}

// CatalogDocument returns the current catalog document and its version, or ErrNotFound.
func (q Queries) CatalogDocument(ctx context.Context) (document string, version int64, err error) {
	err = q.db.Row(ctx, "SELECT document, version FROM catalog_versions ORDER BY version DESC LIMIT 1", nil,
		&document, &version)
	return document, version, err
}

// InsertCatalog makes the document the current catalog and returns its version. names are those of its photo indexes,
// which stay known after it.
func (t *Tx) InsertCatalog(document string, names map[string]text.Text, at time.Time) (int64, error) {
	for codes := range db.Batches(slices.Sorted(maps.Keys(names))) {
		args := make([]any, 0, 3*len(codes))
		for _, code := range codes {
			args = append(args, code, names[code].EN, names[code].JA)
		}
		if _, err := t.db.Exec("INSERT INTO photo_index_names (code, en, ja) VALUES "+db.Tuples(len(codes), 3)+
			" ON CONFLICT (code) DO UPDATE SET en = excluded.en, ja = excluded.ja", args...); err != nil {
			return 0, err
		}
	}
	return db.Value[int64](t.Context(), t.db.Queries, `INSERT INTO catalog_versions (version, document, created_at)
		SELECT COALESCE(MAX(version), 0) + 1, $1, $2 FROM catalog_versions RETURNING version`, document, column.Micros(at))
}

// PhotoIndexNames returns what photo indexes are called, or were before an import without them, by code.
func (q Queries) PhotoIndexNames(ctx context.Context) (map[string]text.Text, error) {
	names := make(map[string]text.Text)
	err := q.db.Rows(ctx, "SELECT code, en, ja FROM photo_index_names", nil, func(scan db.Scanner) error {
		var code string
		var name text.Text
		err := scan(&code, &name.EN, &name.JA)
		names[code] = name
		return err
	})
	return names, err
}

// CatalogVersions returns the numbers of all catalogs that are kept, the current one last.
func (q Queries) CatalogVersions(ctx context.Context) ([]int64, error) {
	return db.Column[int64](ctx, q.db, "SELECT version FROM catalog_versions ORDER BY version")
}

// KeptCatalog returns the document of a version, or ErrNotFound.
func (q Queries) KeptCatalog(ctx context.Context, version int64) (string, error) {
	return db.Value[string](ctx, q.db, keptCatalog, version)
}

const keptCatalog = "SELECT document FROM catalog_versions WHERE version = $1"

// KeptCatalogForUpdate is KeptCatalog for a change.
func (t *Tx) KeptCatalogForUpdate(version int64) (string, error) {
	return db.Value[string](t.Context(), t.db.Queries, keptCatalog+t.db.Dialect.ForUpdate, version)
}

// ReplaceCatalog changes a document that is kept. Who has read it does not hear of it.
func (t *Tx) ReplaceCatalog(version int64, document string) error {
	return t.db.One("UPDATE catalog_versions SET document = $1 WHERE version = $2", document, version)
}

// OpenOrders counts the Live orders that hold capacity of an answer time, as far as limit, and the earliest due date
// among them. Its cost is bounded by the limit.
func (q Queries) OpenOrders(ctx context.Context, answerTime, limit int) (catalog.Load, error) {
	var load catalog.Load
	err := q.db.Rows(ctx, `SELECT due_at FROM orders WHERE environment = 'live' AND status IN ('queued', 'processing')
		AND answer_time = $1
		ORDER BY due_at LIMIT CAST($2 AS BIGINT)`, []any{answerTime, limit}, func(scan db.Scanner) error {
		var due int64
		if err := scan(&due); err != nil {
			return err
		}
		if load.OpenOrders++; load.OpenOrders == 1 {
			load.EarliestDue = column.TimeOf(due)
		}
		return nil
	})
	return load, err
}

// LockAnswerTime makes transactions that could exceed an answer time's capacity run one after the other.
func (t *Tx) LockAnswerTime(answerTime int) error {
	return t.exec(`INSERT INTO answer_time_turns (answer_time, turns) VALUES ($1, 1)
		ON CONFLICT (answer_time) DO UPDATE SET turns = answer_time_turns.turns + 1`, answerTime)
}

// CatalogState returns the number of the current catalog, 0 when none was imported, and the answer times that are
// paused, in order. Every node asks for it many times a second, so it is one statement.
func (q Queries) CatalogState(ctx context.Context) (version int64, paused []int, err error) {
	err = q.db.Rows(ctx, `SELECT 0 AS kind, COALESCE(MAX(version), 0) AS value FROM catalog_versions
		UNION ALL SELECT 1, answer_time FROM paused_answer_times ORDER BY kind, value`, nil,
		func(scan db.Scanner) error {
			var kind int
			var value int64
			if err := scan(&kind, &value); err != nil {
				return err
			}
			if kind == 0 {
				version = value
			} else {
				paused = append(paused, int(value))
			}
			return nil
		})
	return version, paused, err
}

// AnswerTimePauses returns what is paused, by answer time.
func (q Queries) AnswerTimePauses(ctx context.Context) (map[int]catalog.Pause, error) {
	pauses := make(map[int]catalog.Pause)
	err := q.db.Rows(ctx, `SELECT p.answer_time, p.paused_at, s.name FROM paused_answer_times p
		JOIN staff s ON s.id = p.paused_by`, nil, func(scan db.Scanner) error {
		var code int
		var p catalog.Pause
		err := scan(&code, column.Time(&p.At), &p.StaffName)
		pauses[code] = p
		return err
	})
	return pauses, err
}

// PauseAnswerTime takes an answer time from new orders. One that is paused already stays as it is.
func (t *Tx) PauseAnswerTime(code int, staffID string, at time.Time) error {
	return t.exec(`INSERT INTO paused_answer_times (answer_time, paused_by, paused_at) VALUES ($1, $2, $3)
		ON CONFLICT (answer_time) DO NOTHING`, code, staffID, column.Micros(at))
}

// ResumeAnswerTime gives it back to new orders.
func (t *Tx) ResumeAnswerTime(code int) error {
	return t.exec("DELETE FROM paused_answer_times WHERE answer_time = $1", code)
}

// InsertCatalogDraft saves an uploaded catalog.
func (t *Tx) InsertCatalogDraft(d *catalog.Draft) error {
	return t.db.Insert("catalog_drafts (id, document, file_name, base_version, staff_id, created_at)",
		d.ID, string(d.Document), d.FileName, d.BaseVersion, d.StaffID, column.Micros(d.CreatedAt))
}

// CatalogDraft returns an uploaded catalog, or ErrNotFound.
func (q Queries) CatalogDraft(ctx context.Context, id string) (*catalog.Draft, error) {
	d := &catalog.Draft{ID: id}
	return d, q.db.Row(ctx, `SELECT document, file_name, base_version, staff_id, created_at FROM catalog_drafts
		WHERE id = $1`, []any{id}, &d.Document, &d.FileName, &d.BaseVersion, &d.StaffID, column.Time(&d.CreatedAt))
}

// DeleteCatalogDraft deletes an uploaded catalog; ErrNotFound when it is gone already.
func (t *Tx) DeleteCatalogDraft(id string) error {
	return t.db.One("DELETE FROM catalog_drafts WHERE id = $1", id)
}
