package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// Idempotency is the key under which the answer to a creation is remembered.
type Idempotency struct {
	Key, BodyHash string
	Since         time.Time // an answer from before it is forgotten
}

// Remembered is the first answer to an idempotent creation.
type Remembered struct {
	BodyHash string
	Answer   string
}

// Remembered returns what an idempotency key stands for, if it was used since the time.
func (q Queries) Remembered(
	ctx context.Context, tenant access.Tenant, key string, since time.Time,
) (Remembered, error) {
	var found Remembered
	err := q.db.Record(ctx, `SELECT body_hash, answer FROM idempotency_keys
		WHERE `+ofTenant+" AND key = $3 AND created_at > $4",
		[]any{tenant.AccountID, string(tenant.Environment), key, column.Micros(since)}, func(r *db.Record) error {
			found = Remembered{BodyHash: r.Text(0), Answer: r.Text(1)}
			return nil
		})
	return found, err
}

// unused returns ErrExists when the idempotency key of a creation belongs to another order.
func (s *Store) unused(ctx context.Context, c *Creation) error {
	_, err := s.Remembered(ctx, c.Order.Tenant(), c.Idempotency.Key, c.Idempotency.Since)
	switch {
	case err == nil:
		return ErrExists
	case errors.Is(err, ErrNotFound):
		return nil
	}
	return err
}

// resolveConflict prepares the next try of a creation that met an existing row: an idempotency key that is too old is
// deleted; a number is drawn again anyway, and so is a rowid, which a clock that was set back repeats.
func (s *Store) resolveConflict(ctx context.Context, c *Creation) error {
	if c.Idempotency == nil {
		return nil
	}
	if err := s.unused(ctx, c); err != nil {
		return err
	}
	return s.Update(ctx, func(tx *Tx) error {
		return tx.exec(`DELETE FROM idempotency_keys
			WHERE `+ofTenant+" AND key = $3 AND created_at <= $4",
			c.Order.AccountID, string(c.Order.Environment), c.Idempotency.Key, column.Micros(c.Idempotency.Since))
	})
}

// readAndTakeKeys runs reads and writes the idempotency keys of a group, which tells those that were used before: to
// look them up first would cost as much again.
func (t *Tx) readAndTakeKeys(group []*Creation, reads []db.Command) error {
	var keys [][]any
	for _, c := range group {
		if c.repeated = false; c.key != nil {
			keys = append(keys, c.key)
		}
	}
	taken := 0
	writes := inserts(nil, "idempotency_keys (tenant, key, body_hash, answer, created_at)", keys)
	for i := range writes {
		writes[i].Text += " ON CONFLICT (tenant, key) DO NOTHING"
		writes[i].Changed = func(n int64) error {
			taken += int(n)
			return nil
		}
	}
	if err := t.db.Batch(append(reads, writes...), false); err != nil || taken == len(keys) {
		return err
	}
	return t.findRepeated(group)
}

// findRepeated finds those of a group whose keys belong to other orders, or did when they were to be written: on
// PostgreSQL such a row may be gone by now.
func (t *Tx) findRepeated(group []*Creation) error {
	var reads []db.Command
	for _, c := range group {
		if c.key == nil {
			continue
		}
		c.repeated = true
		reads = append(reads, db.Command{
			Text: "SELECT answer FROM idempotency_keys WHERE tenant = $1 AND key = $2",
			Args: c.key[:2],
			Each: func(r *db.Record) error {
				c.repeated = r.Text(0) != c.key[3]
				return nil
			},
		})
	}
	return t.db.Batch(reads, false)
}

// returnKey gives the key of an order back that is refused for another reason.
func (c *Creation) returnKey(to []db.Command) []db.Command {
	if c.key == nil || c.repeated {
		return to
	}
	return append(to, db.Command{
		Text: "DELETE FROM idempotency_keys WHERE tenant = $1 AND key = $2", Args: c.key[:2],
	})
}
