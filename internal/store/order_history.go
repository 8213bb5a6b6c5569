package store

import (
	"context"
	"encoding/json"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// InsertOrderNote adds the note of a submission.
func (t *Tx) InsertOrderNote(orderID string, n order.Note) error {
	return t.db.Insert("order_notes (order_id, round, note, created_at)", orderID, n.Round, n.Note,
		column.Micros(n.CreatedAt))
}

// AppendTimeline adds an entry to the timeline of an order, of which the caller holds the row. Entries are numbered:
// the clocks of two nodes, or one that was set back, do not say which came first.
func (t *Tx) AppendTimeline(orderID string, e *order.TimelineEntry) error {
	details := "{}"
	if len(e.Details) > 0 {
		b, err := json.Marshal(e.Details)
		if err != nil {
			return err
		}
		details = string(b)
	}
	return t.exec(`INSERT INTO order_events (order_id, seq, at, event, actor_type, actor_id, actor_name, details)
		VALUES ($1, (SELECT COALESCE(MAX(seq), 0) + 1 FROM order_events WHERE order_id = $1), $2, $3, $4, $5, $6, $7)`,
		orderID, column.Micros(e.At), e.Event, string(e.Actor.Kind), column.TextOrNull(e.Actor.ID), e.Actor.Name, details)
}

// OrderHistory returns the photos, the notes and the timeline of an order.
func (q Queries) OrderHistory(ctx context.Context, orderID string) (h order.History, err error) {
	c, err := q.creation(ctx, orderID)
	if err != nil {
		return h, err
	}
	if h.Photos, err = q.withLaterPhotos(ctx, orderID, c); err != nil {
		return h, err
	}
	if h.Notes, err = q.OrderNotes(ctx, orderID); err != nil {
		return h, err
	}
	h.Timeline, err = q.withLaterEntries(ctx, orderID, c)
	return h, err
}

// OrderNotes returns the notes of an order by round.
func (q Queries) OrderNotes(ctx context.Context, orderID string) ([]order.Note, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (n order.Note, err error) {
		err = scan(&n.Round, &n.Note, column.Time(&n.CreatedAt))
		return n, err
	}, "SELECT round, note, created_at FROM order_notes WHERE order_id = $1 ORDER BY round", orderID)
}

// Timeline returns what happened to an order, in the order in which it was written.
func (q Queries) Timeline(ctx context.Context, orderID string) ([]order.TimelineEntry, error) {
	c, err := q.creation(ctx, orderID)
	if err != nil {
		return nil, err
	}
	return q.withLaterEntries(ctx, orderID, c)
}

// decodeDetails reads those of a step of a timeline.
func decodeDetails(text string) (details map[string]any, err error) {
	err = json.Unmarshal([]byte(text), &details)
	return details, err
}

func (q Queries) withLaterEntries(ctx context.Context, orderID string, c *creation) ([]order.TimelineEntry, error) {
	later, err := db.Collect(ctx, q.db, func(scan db.Scanner) (e order.TimelineEntry, err error) {
		var details string
		err = scan(column.Time(&e.At), &e.Event, &e.Actor.Kind, column.Text(&e.Actor.ID), &e.Actor.Name, &details)
		if err == nil {
			e.Details, err = decodeDetails(details)
			err = readable(orderID, err)
		}
		return e, err
	}, `SELECT at, event, actor_type, actor_id, actor_name, details FROM order_events
		WHERE order_id = $1 ORDER BY seq`, orderID)
	return append([]order.TimelineEntry{c.entry()}, later...), err
}
