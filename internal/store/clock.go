package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// postgresNow is the time by the clock of the database, for what nodes with clocks of their own agree on.
const postgresNow = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"

// Clock returns the time by the clock of the database; on SQLite that is the clock of the machine.
func (s *Store) Clock(ctx context.Context) (now time.Time, err error) {
	if !s.Shared() {
		return time.Now(), nil
	}
	err = s.db.Row(ctx, "SELECT "+postgresNow, nil, column.Time(&now))
	return now, err
}

// Clock returns the time by the clock of the database, which the senders of all nodes share. It is not that of the
// beginning of the transaction.
func (t *Tx) Clock() (now time.Time, err error) {
	if t.db.Dialect == &db.SQLite {
		return time.Now(), nil
	}
	err = t.db.Row(t.Context(), "SELECT "+postgresNow, nil, column.Time(&now))
	return now, err
}

// LastMoved returns the time of the latest move of an order or attempt of a delivery, as its row says it: what makes a
// past writes with a clock of its own. Zero: there is none.
func (q Queries) LastMoved(ctx context.Context) (last time.Time, err error) {
	err = q.db.Row(ctx, `SELECT MAX(t) FROM (SELECT MAX(updated_at) AS t FROM orders
		UNION ALL SELECT MAX(at) FROM delivery_attempts) AS times`, nil, column.Time(&last))
	return last, err
}

// NewestTime returns the time of the newest row among those that are written all the time, zero: there is none.
func (q Queries) NewestTime(ctx context.Context) (newest time.Time, err error) {
	if err := q.db.Row(ctx, "SELECT MAX(at) FROM queue_samples", nil, column.Time(&newest)); err != nil {
		return newest, err
	}
	for _, table := range []string{"orders", "deliveries", "ledger_entries", "audit_events", "sessions"} {
		var last string
		if err := q.db.Row(ctx, "SELECT MAX(id) FROM "+table, nil, column.Text(&last)); err != nil {
			return newest, err
		}
		if id, err := uuid.Parse(last); err == nil && id.Version() == 7 {
			if at := time.Unix(id.Time().UnixTime()); at.After(newest) {
				newest = at
			}
		}
	}
	return newest, nil
}
