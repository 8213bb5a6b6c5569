package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/order"
)

// InsertOrderPhotos adds the photos of one round, in the order they were sent.
func (t *Tx) InsertOrderPhotos(orderID string, round int, photos []order.Photo) error {
	const columns = 5
	args := make([]any, 0, columns*len(photos))
	for i, p := range photos {
		args = append(args, orderID, round, i, p.IndexCode, textOrNull(p.Name))
	}
	_, err := t.exec("INSERT INTO order_photos (order_id, round, position, index_code, photo) VALUES "+
		tuples(len(photos), columns), args...)
	return err
}

// InsertOrderNote adds the note of a submission.
func (t *Tx) InsertOrderNote(orderID string, n order.Note) error {
	_, err := t.exec("INSERT INTO order_notes (order_id, round, note, created_at) VALUES ($1, $2, $3, $4)",
		orderID, n.Round, n.Note, micros(n.CreatedAt))
	return err
}

// AppendTimeline adds an entry to the timeline of an order.
func (t *Tx) AppendTimeline(orderID string, e *order.TimelineEntry) error {
	details := "{}"
	if len(e.Details) > 0 {
		b, err := json.Marshal(e.Details)
		if err != nil {
			return err
		}
		details = string(b)
	}
	_, err := t.exec(`INSERT INTO order_events (order_id, id, at, event, actor_type, actor_id, actor_name, details)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		orderID, NewID(), micros(e.At), e.Event, string(e.Actor.Kind), textOrNull(e.Actor.ID), e.Actor.Name, details)
	return err
}

// OrderHistory returns the photos, the notes and the timeline of an order.
func (q Queries) OrderHistory(ctx context.Context, orderID string) (h order.History, err error) {
	if h.Photos, err = q.OrderPhotos(ctx, orderID); err != nil {
		return h, err
	}
	if h.Notes, err = q.OrderNotes(ctx, orderID); err != nil {
		return h, err
	}
	h.Timeline, err = q.Timeline(ctx, orderID)
	return h, err
}

// OrderPhotos returns all photos of an order: those of its creation, then those of each round.
func (q Queries) OrderPhotos(ctx context.Context, orderID string) ([]order.Photo, error) {
	photos := []order.Photo{}
	err := q.rows(ctx, "SELECT photo, index_code, round FROM order_photos WHERE order_id = $1 ORDER BY round, position",
		[]any{orderID},
		func(scan func(...any) error) error {
			var p order.Photo
			var name sql.NullString
			err := scan(&name, &p.IndexCode, &p.Round)
			p.Name = name.String
			photos = append(photos, p)
			return err
		})
	return photos, err
}

// OrderNotes returns the notes of an order by round.
func (q Queries) OrderNotes(ctx context.Context, orderID string) ([]order.Note, error) {
	notes := []order.Note{}
	err := q.rows(ctx, "SELECT round, note, created_at FROM order_notes WHERE order_id = $1 ORDER BY round",
		[]any{orderID},
		func(scan func(...any) error) error {
			var n order.Note
			var created int64
			err := scan(&n.Round, &n.Note, &created)
			n.CreatedAt = timeOf(created)
			notes = append(notes, n)
			return err
		})
	return notes, err
}

// Timeline returns what happened to an order, oldest first.
func (q Queries) Timeline(ctx context.Context, orderID string) ([]order.TimelineEntry, error) {
	entries := []order.TimelineEntry{}
	err := q.rows(ctx, `SELECT at, event, actor_type, actor_id, actor_name, details FROM order_events
		WHERE order_id = $1 ORDER BY id`, []any{orderID},
		func(scan func(...any) error) error {
			var e order.TimelineEntry
			var at int64
			var actorID sql.NullString
			var details string
			if err := scan(&at, &e.Event, &e.Actor.Kind, &actorID, &e.Actor.Name, &details); err != nil {
				return err
			}
			e.At, e.Actor.ID = timeOf(at), actorID.String
			err := json.Unmarshal([]byte(details), &e.Details)
			entries = append(entries, e)
			return err
		})
	return entries, err
}
