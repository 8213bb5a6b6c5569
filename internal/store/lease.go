package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

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
		_, err := tx.db.Exec("DELETE FROM task_leases WHERE task = $1 AND holder = $2", task, holder)
		return err
	})
}
