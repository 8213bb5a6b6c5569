package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
)

// Remembered is the first answer to an idempotent creation.
type Remembered struct {
	BodyHash string
	Answer   string
}

// Remembered returns what an idempotency key stands for, if it was used since the time.
func (q Queries) Remembered(
	ctx context.Context, tenant access.Tenant, key string, since time.Time,
) (Remembered, error) {
	r, err := q.record(ctx, `SELECT body_hash, answer FROM idempotency_keys
		WHERE account_id = $1 AND environment = $2 AND key = $3 AND created_at > $4`,
		[]any{tenant.AccountID, string(tenant.Environment), key, micros(since)}, 2)
	if err != nil {
		return Remembered{}, err
	}
	return Remembered{BodyHash: r.text(0), Answer: r.text(1)}, r.err
}

// DeleteOldIdempotencyKeys removes up to limit keys from before the time and returns how many.
func (t *Tx) DeleteOldIdempotencyKeys(before time.Time, limit int) (int64, error) {
	return t.exec(`DELETE FROM idempotency_keys WHERE (account_id, environment, key) IN (
		SELECT account_id, environment, key FROM idempotency_keys WHERE created_at <= $1 LIMIT $2)`, micros(before), limit)
}

// HasIdempotencyKeys reports whether there are keys from before the time.
func (q Queries) HasIdempotencyKeys(ctx context.Context, before time.Time) (bool, error) {
	return q.exists(ctx, "FROM idempotency_keys WHERE created_at <= $1", micros(before))
}

// NewID returns a fresh UUID of version 7: ids made by one process sort in the order they were made.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// ParseID returns the stored form of a UUID in its canonical 36-character form, in either case.
func ParseID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	id, err := uuid.Parse(s)
	return id.String(), err == nil
}

// FirstID returns an id that sorts before every id of NewID from the time on, and after those of earlier milliseconds.
func FirstID(t time.Time) string {
	var id uuid.UUID
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i)) //nolint:gosec // the six bytes of the time, one by one
	}
	id[6] = 0x70
	id[8] = 0x80
	return id.String()
}
