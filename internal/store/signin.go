package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// CountUnknownSignIn counts an attempt to sign in with an email that nobody has, with about as much work as the audit
// log has with the others: how long an answer takes must not tell which emails exist.
func (t *Tx) CountUnknownSignIn() error {
	err := t.exec(`INSERT INTO unknown_sign_ins (id, attempts) VALUES (1, 1)
		ON CONFLICT (id) DO UPDATE SET attempts = unknown_sign_ins.attempts + 1`)
	for range 2 {
		if err == nil {
			err = t.exec("UPDATE unknown_sign_ins SET attempts = attempts WHERE id = 1")
		}
	}
	return err
}

// SignInWindow is how often something was tried in a window, and when that ends.
type SignInWindow struct {
	Count int
	Ends  time.Time
}

// SignInAttempts returns the running window of a key, which has a length, if there is one.
func (q Queries) SignInAttempts(
	ctx context.Context, key string, now time.Time, length time.Duration,
) (SignInWindow, error) {
	var a SignInWindow
	err := q.db.Row(ctx, `SELECT attempts, ends_at FROM sign_in_attempts
		WHERE key = $1 AND ends_at > $2 AND ends_at <= $3`,
		[]any{key, column.Micros(now), column.Micros(now.Add(length))}, &a.Count, column.Time(&a.Ends))
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return a, err
}

// CountAttempt counts an attempt in the running window of a key, or in a new one when the last has ended, or ends later
// than one that begins now: a clock was set back. The row stays locked until the transaction ends.
func (t *Tx) CountAttempt(key string, now time.Time, length time.Duration) (a SignInWindow, err error) {
	err = t.db.Row(t.Context(), `INSERT INTO sign_in_attempts (key, ends_at, attempts) VALUES ($1, $3, 1)
		ON CONFLICT (key) DO UPDATE SET
			attempts = CASE WHEN sign_in_attempts.ends_at > $2 AND sign_in_attempts.ends_at <= $3
				THEN sign_in_attempts.attempts + 1 ELSE 1 END,
			ends_at = CASE WHEN sign_in_attempts.ends_at > $2 AND sign_in_attempts.ends_at <= $3
				THEN sign_in_attempts.ends_at ELSE excluded.ends_at END
		RETURNING attempts, ends_at`, []any{key, column.Micros(now), column.Micros(now.Add(length))}, &a.Count,
		column.Time(&a.Ends))
	return a, err
}

// GiveBackAttempt takes back one attempt.
func (t *Tx) GiveBackAttempt(key string) error {
	return t.exec("UPDATE sign_in_attempts SET attempts = attempts - 1 WHERE key = $1 AND attempts > 0", key)
}

// ForgetAttempts takes back all attempts.
func (t *Tx) ForgetAttempts(key string) error {
	return t.exec("DELETE FROM sign_in_attempts WHERE key = $1", key)
}

// KnowsDevice reports whether a person has signed in with a browser before.
func (q Queries) KnowsDevice(ctx context.Context, a access.Audience, userID, device string) (bool, error) {
	return q.db.Exists(ctx, "FROM sign_in_devices WHERE audience = $1 AND user_id = $2 AND device_hash = $3",
		string(a), userID, device)
}

// CountDevices returns with how many browsers a person has signed in before.
func (q Queries) CountDevices(ctx context.Context, a access.Audience, userID string) (int, error) {
	return db.Value[int](ctx, q.db, "SELECT COUNT(*) FROM sign_in_devices WHERE audience = $1 AND user_id = $2",
		string(a), userID)
}

// SeeDevice notes that a person has signed in with a browser, and reports whether it is a new one.
func (t *Tx) SeeDevice(a access.Audience, userID, device string, now time.Time) (isNew bool, err error) {
	isNew, err = t.changed(`INSERT INTO sign_in_devices (audience, user_id, device_hash, seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (audience, user_id, device_hash) DO NOTHING`, string(a), userID, device, column.Micros(now))
	if err != nil || isNew {
		return isNew, err
	}
	return false, t.db.One(`UPDATE sign_in_devices SET seen_at = $4
		WHERE audience = $1 AND user_id = $2 AND device_hash = $3`, string(a), userID, device, column.Micros(now))
}

// KeepDevices makes the browsers of a person unknown but for so many that were used last.
func (t *Tx) KeepDevices(a access.Audience, userID string, keep int) error {
	return t.exec(`DELETE FROM sign_in_devices WHERE audience = $1 AND user_id = $2 AND device_hash NOT IN (
		SELECT device_hash FROM sign_in_devices WHERE audience = $1 AND user_id = $2
		ORDER BY seen_at DESC, device_hash LIMIT $3)`, string(a), userID, keep)
}

// ForgetDevices makes all browsers of a person unknown.
func (t *Tx) ForgetDevices(a access.Audience, userID string) error {
	return t.exec("DELETE FROM sign_in_devices WHERE audience = $1 AND user_id = $2", string(a), userID)
}
