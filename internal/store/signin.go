package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// SignInWindow is how often something was tried since the window of it began.
type SignInWindow struct {
	Count   int
	Started time.Time
}

// SignInAttempts returns the running window of a key, if there is one: it began after since.
func (q Queries) SignInAttempts(ctx context.Context, key string, since time.Time) (SignInWindow, error) {
	var a SignInWindow
	err := q.db.Row(ctx, "SELECT attempts, started_at FROM sign_in_attempts WHERE key = $1 AND started_at > $2",
		[]any{key, column.Micros(since)}, &a.Count, column.Time(&a.Started))
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return a, err
}

// CountAttempt counts an attempt in the running window of a key, or in a new one when the last began by since, or after
// now: a clock was set back. The row stays locked until the transaction ends.
func (t *Tx) CountAttempt(key string, now, since time.Time) (a SignInWindow, err error) {
	err = t.db.Row(t.Context(), `INSERT INTO sign_in_attempts (key, started_at, attempts) VALUES ($1, $2, 1)
		ON CONFLICT (key) DO UPDATE SET
			attempts = CASE WHEN sign_in_attempts.started_at > $3 AND sign_in_attempts.started_at <= $2
				THEN sign_in_attempts.attempts + 1 ELSE 1 END,
			started_at = CASE WHEN sign_in_attempts.started_at > $3 AND sign_in_attempts.started_at <= $2
				THEN sign_in_attempts.started_at ELSE excluded.started_at END
		RETURNING attempts, started_at`, []any{key, column.Micros(now), column.Micros(since)}, &a.Count,
		column.Time(&a.Started))
	return a, err
}

// GiveBackAttempt takes back one attempt.
func (t *Tx) GiveBackAttempt(key string) error {
	_, err := t.db.Exec("UPDATE sign_in_attempts SET attempts = attempts - 1 WHERE key = $1 AND attempts > 0", key)
	return err
}

// ForgetAttempts takes back all attempts.
func (t *Tx) ForgetAttempts(key string) error {
	_, err := t.db.Exec("DELETE FROM sign_in_attempts WHERE key = $1", key)
	return err
}

// DeleteOldSignInAttempts removes up to limit windows that began by a time, and returns how many.
func (t *Tx) DeleteOldSignInAttempts(before time.Time, limit int) (int64, error) {
	return t.db.Exec(`DELETE FROM sign_in_attempts WHERE key IN (SELECT key FROM sign_in_attempts
		WHERE started_at <= $1 ORDER BY started_at LIMIT $2`+t.db.Dialect.SkipLocked+")", column.Micros(before), limit)
}

// KnowsDevice reports whether a person has signed in with a browser before.
func (q Queries) KnowsDevice(ctx context.Context, a access.Audience, userID, device string) (bool, error) {
	n, err := db.Value[int](ctx, q.db, `SELECT COUNT(*) FROM sign_in_devices
		WHERE audience = $1 AND user_id = $2 AND device_hash = $3`, string(a), userID, device)
	return n > 0, err
}

// CountDevices returns with how many browsers a person has signed in before.
func (q Queries) CountDevices(ctx context.Context, a access.Audience, userID string) (int, error) {
	return db.Value[int](ctx, q.db, "SELECT COUNT(*) FROM sign_in_devices WHERE audience = $1 AND user_id = $2",
		string(a), userID)
}

// SeeDevice notes that a person has signed in with a browser, and reports whether it is a new one.
func (t *Tx) SeeDevice(a access.Audience, userID, device string, now time.Time) (isNew bool, err error) {
	n, err := t.db.Exec(`INSERT INTO sign_in_devices (audience, user_id, device_hash, seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (audience, user_id, device_hash) DO NOTHING`, string(a), userID, device, column.Micros(now))
	if err != nil || n == 1 {
		return n == 1, err
	}
	return false, t.db.One(`UPDATE sign_in_devices SET seen_at = $4
		WHERE audience = $1 AND user_id = $2 AND device_hash = $3`, string(a), userID, device, column.Micros(now))
}

// ForgetDevices makes all browsers of a person unknown.
func (t *Tx) ForgetDevices(a access.Audience, userID string) error {
	_, err := t.db.Exec("DELETE FROM sign_in_devices WHERE audience = $1 AND user_id = $2", string(a), userID)
	return err
}

// DeleteOldDevices removes up to limit browsers that nobody has signed in with since a time, and returns how many.
func (t *Tx) DeleteOldDevices(before time.Time, limit int) (int64, error) {
	return t.db.Exec(`DELETE FROM sign_in_devices WHERE (audience, user_id, device_hash) IN (
		SELECT audience, user_id, device_hash FROM sign_in_devices WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2`+
		t.db.Dialect.SkipLocked+")", column.Micros(before), limit)
}
