package store

import (
	"context"
	"time"
)

// CatalogState returns the number of the current catalog, 0 when none was imported, and the answer times that are paused,
// in order. Every node asks for it many times a second, so it is one statement.
func (q Queries) CatalogState(ctx context.Context) (version int64, paused []int, err error) {
	err = q.rows(ctx, `SELECT 0 AS kind, COALESCE(MAX(version), 0) AS value FROM catalog_versions
		UNION ALL SELECT 1, answer_time FROM paused_answer_times ORDER BY kind, value`, nil, func(scan func(...any) error) error {
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

// AnswerTimePause says who has paused an answer time, and when.
type AnswerTimePause struct {
	StaffName string
	At        time.Time
}

// AnswerTimePauses returns what is paused, by answer time.
func (q Queries) AnswerTimePauses(ctx context.Context) (map[int]AnswerTimePause, error) {
	pauses := make(map[int]AnswerTimePause)
	err := q.rows(ctx, "SELECT p.answer_time, p.paused_at, s.name FROM paused_answer_times p JOIN staff s ON s.id = p.paused_by", nil,
		func(scan func(...any) error) error {
			var code int
			var at int64
			var p AnswerTimePause
			err := scan(&code, &at, &p.StaffName)
			p.At = timeOf(at)
			pauses[code] = p
			return err
		})
	return pauses, err
}

// PauseAnswerTime takes an answer time from new orders. One that is paused already stays as it is.
func (t *Tx) PauseAnswerTime(code int, staffID string, at time.Time) error {
	_, err := t.exec("INSERT INTO paused_answer_times (answer_time, paused_by, paused_at) VALUES ($1, $2, $3) ON CONFLICT (answer_time) DO NOTHING",
		code, staffID, micros(at))
	return err
}

// ResumeAnswerTime gives it back to new orders.
func (t *Tx) ResumeAnswerTime(code int) error {
	_, err := t.exec("DELETE FROM paused_answer_times WHERE answer_time = $1", code)
	return err
}

// CatalogDraft is an uploaded catalog that is not imported yet.
type CatalogDraft struct {
	ID          string
	Document    []byte
	FileName    string
	BaseVersion int64 // of the catalog that it was compared with
	StaffID     string
	CreatedAt   time.Time
}

// InsertCatalogDraft keeps an uploaded catalog, and forgets those that were uploaded before a time.
func (t *Tx) InsertCatalogDraft(d *CatalogDraft, forget time.Time) error {
	if _, err := t.exec("DELETE FROM catalog_drafts WHERE created_at < $1", micros(forget)); err != nil {
		return err
	}
	_, err := t.exec("INSERT INTO catalog_drafts (id, document, file_name, base_version, staff_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
		d.ID, string(d.Document), d.FileName, d.BaseVersion, d.StaffID, micros(d.CreatedAt))
	return err
}

// CatalogDraft returns an uploaded catalog, or ErrNotFound.
func (q Queries) CatalogDraft(ctx context.Context, id string) (*CatalogDraft, error) {
	d := &CatalogDraft{ID: id}
	var created int64
	if err := q.row(ctx, "SELECT document, file_name, base_version, staff_id, created_at FROM catalog_drafts WHERE id = $1", []any{id},
		&d.Document, &d.FileName, &d.BaseVersion, &d.StaffID, &created); err != nil {
		return nil, err
	}
	d.CreatedAt = timeOf(created)
	return d, nil
}

// DeleteCatalogDraft forgets an uploaded catalog; ErrNotFound when it is gone already.
func (t *Tx) DeleteCatalogDraft(id string) error {
	return t.one("DELETE FROM catalog_drafts WHERE id = $1", id)
}
