package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// The channels of announcements.
const (
	deliveryChannel = "assay_deliveries"
	photoChannel    = "assay_photos"
	changeChannel   = "assay_changes"
)

var channels = []string{deliveryChannel, photoChannel, changeChannel}

// Shared says whether other nodes may work on this database: on PostgreSQL they may, on SQLite there is one server.
func (s *Store) Shared() bool { return s.db.Shared() }

// AnnounceDeliveries tells the senders of all nodes that deliveries are due; from names the caller. On SQLite there is
// nobody to tell. It is not part of the transaction that queues a delivery, because PostgreSQL runs the commits of all
// transactions that notify one after the other; a message lost in a crash is made up for by the senders' polling.
func (s *Store) AnnounceDeliveries(ctx context.Context, from string) error {
	return s.db.Announce(ctx, deliveryChannel, from)
}

// announcedPhotos is how many names fit into an announcement, which may have 8,000 bytes.
const announcedPhotos = 75

// AnnouncePhotos tells the nodes that make images of photos of an account that will be looked at.
func (s *Store) AnnouncePhotos(ctx context.Context, accountID string, names []string) error {
	for some := range slices.Chunk(names, announcedPhotos) {
		if err := s.db.Announce(ctx, photoChannel, accountID+" "+strings.Join(some, " ")); err != nil {
			return err
		}
	}
	return nil
}

// ListenPhotos calls heard with the account and the photos of each announcement, and with none once it listens. It
// returns when ctx ends or the connection breaks, never nil.
func (s *Store) ListenPhotos(ctx context.Context, heard func(accountID string, names []string)) error {
	return s.db.Listen(ctx, photoChannel, func(message string) {
		accountID, names, _ := strings.Cut(message, " ")
		heard(accountID, strings.Fields(names))
	})
}

// ListenDeliveries calls heard for each announcement, with the name of who made it. It
// returns when ctx ends or the connection breaks, never nil. heard is also called, with an empty name, once it listens:
// what was announced before is not heard.
func (s *Store) ListenDeliveries(ctx context.Context, heard func(from string)) error {
	return s.db.Listen(ctx, deliveryChannel, heard)
}

// AnnounceChange tells all nodes that something has changed which they look at now and then.
func (s *Store) AnnounceChange(ctx context.Context, change string) error {
	return s.db.Announce(ctx, changeChannel, change)
}

// ListenChanges calls heard for each announced change, and with an empty one once it listens. It returns when ctx ends
// or the connection breaks, never nil.
func (s *Store) ListenChanges(ctx context.Context, heard func(change string)) error {
	return s.db.Listen(ctx, changeChannel, heard)
}

// maxLease is longer than any lease of a task. What ends later was given by a clock that was wrong.
const maxLease = 24 * time.Hour

// TakeLease gives a task to the holder for a time, by the clock of the database, unless another one has it, and reports
// whether it did. On SQLite, where there is one server, it always does.
func (s *Store) TakeLease(ctx context.Context, task, holder string, length time.Duration) (taken bool, err error) {
	if !s.Shared() {
		return true, nil
	}
	err = s.Update(Unhurried(ctx), func(tx *Tx) error {
		now, err := tx.Clock()
		if err != nil {
			return err
		}
		_, err = db.Value[string](tx.Context(), tx.db.Queries,
			`INSERT INTO task_leases (task, holder, lease_until) VALUES ($1, $2, $3)
			ON CONFLICT (task) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until
			WHERE task_leases.holder = excluded.holder OR task_leases.lease_until <= $4 OR task_leases.lease_until > $5
			RETURNING task`, task, holder, column.Micros(now.Add(length)), column.Micros(now), column.Micros(now.Add(maxLease)))
		taken = err == nil
		if errors.Is(err, ErrNotFound) { // another one has it
			return nil
		}
		return err
	})
	return taken && err == nil, err
}

// ReturnLease gives up a task that the holder has.
func (s *Store) ReturnLease(ctx context.Context, task, holder string) error {
	if !s.Shared() {
		return nil
	}
	return s.Update(Unhurried(ctx), func(tx *Tx) error {
		return tx.exec("DELETE FROM task_leases WHERE task = $1 AND holder = $2", task, holder)
	})
}

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
