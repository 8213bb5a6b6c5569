package store

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// InsertSession adds a session by the hash of its secret.
func (t *Tx) InsertSession(s *access.Session, hash string) error {
	return t.db.Insert("sessions ("+sessionColumns+", token_hash)", s.ID, string(s.Audience), s.UserID,
		column.TextOrNull(s.IP), column.TextOrNull(s.UserAgent), column.Micros(s.CreatedAt), column.Micros(s.LastSeenAt),
		column.Micros(s.ExpiresAt), column.Micros(s.ConfirmedAt), column.Flag(s.Factor), nil, hash)
}

const sessionColumns = "id, audience, user_id, ip, user_agent, created_at, last_seen_at, expires_at, " +
	"confirmed_at, factor, passkey_at"

// SessionByHash returns the session of an audience whose secret has the hash, ended or not.
func (q Queries) SessionByHash(ctx context.Context, audience access.Audience, hash string) (*access.Session, error) {
	return db.First(q.sessions(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE token_hash = $1 AND audience = $2",
		hash, string(audience)))
}

// Sessions returns a user's sessions that have not ended, the newest first.
func (q Queries) Sessions(
	ctx context.Context, audience access.Audience, userID string, now time.Time,
) ([]*access.Session, error) {
	return q.sessions(ctx, "SELECT "+sessionColumns+` FROM sessions WHERE audience = $1 AND user_id = $2
		AND expires_at > $3 ORDER BY created_at DESC, id DESC`, string(audience), userID, column.Micros(now))
}

func (q Queries) sessions(ctx context.Context, text string, args ...any) ([]*access.Session, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (*access.Session, error) {
		s := new(access.Session)
		return s, scan(&s.ID, &s.Audience, &s.UserID, column.Text(&s.IP), column.Text(&s.UserAgent),
			column.Time(&s.CreatedAt), column.Time(&s.LastSeenAt), column.Time(&s.ExpiresAt), column.Time(&s.ConfirmedAt),
			&s.Factor, column.Time(&s.PasskeyAt))
	}, text, args...)
}

// TouchSession stores the last use of a session. One that is gone meanwhile stays gone.
func (t *Tx) TouchSession(s *access.Session) error {
	return t.exec("UPDATE sessions SET last_seen_at = $1, expires_at = $2 WHERE id = $3 AND last_seen_at < $1",
		column.Micros(s.LastSeenAt), column.Micros(s.ExpiresAt), s.ID)
}

// ConfirmSession notes that the person of a session has proved who they are.
func (t *Tx) ConfirmSession(id string, now time.Time) error {
	return t.exec("UPDATE sessions SET confirmed_at = $1 WHERE id = $2", column.Micros(now), id)
}

// ProveSession notes that the person of a session has proved who they are with a passkey, or with nil that this is not
// to count any more.
func (t *Tx) ProveSession(id string, at *time.Time) error {
	if at == nil {
		return t.exec("UPDATE sessions SET passkey_at = NULL WHERE id = $1", id)
	}
	return t.exec("UPDATE sessions SET confirmed_at = $1, passkey_at = $1 WHERE id = $2", column.Micros(*at), id)
}

// SetSessionFactor notes that the person of a session has a second factor now, which they have proved.
func (t *Tx) SetSessionFactor(id string) error {
	return t.exec("UPDATE sessions SET factor = 1 WHERE id = $1", id)
}

// HoldSession keeps a session of a user from ending before the transaction does, or returns ErrNotFound when it has
// ended.
func (t *Tx) HoldSession(audience access.Audience, userID, id string) error {
	return t.db.One("UPDATE sessions SET user_id = user_id WHERE id = $1 AND audience = $2 AND user_id = $3",
		id, string(audience), userID)
}

// DeleteSession ends one session of a user, or returns ErrNotFound.
func (t *Tx) DeleteSession(audience access.Audience, userID, id string) error {
	return t.db.One("DELETE FROM sessions WHERE id = $1 AND audience = $2 AND user_id = $3", id, string(audience), userID)
}

// DeleteSessions ends all sessions of a user except one, which may be empty, and returns how many.
func (t *Tx) DeleteSessions(audience access.Audience, userID, exceptID string) (int64, error) {
	return t.db.Exec("DELETE FROM sessions WHERE audience = $1 AND user_id = $2 AND id <> $3",
		string(audience), userID, exceptID)
}

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

// SignInWindow is how often something was tried since the window of it began.
type SignInWindow struct {
	Count   int
	Started time.Time
}

// SignInAttempts returns the running window of a key, if there is one: it began after since, and not after now.
func (q Queries) SignInAttempts(ctx context.Context, key string, now, since time.Time) (SignInWindow, error) {
	var a SignInWindow
	err := q.db.Row(ctx, `SELECT attempts, started_at FROM sign_in_attempts
		WHERE key = $1 AND started_at > $2 AND started_at <= $3`,
		[]any{key, column.Micros(since), column.Micros(now)}, &a.Count, column.Time(&a.Started))
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

// ForgetDevices makes all browsers of a person unknown.
func (t *Tx) ForgetDevices(a access.Audience, userID string) error {
	return t.exec("DELETE FROM sign_in_devices WHERE audience = $1 AND user_id = $2", string(a), userID)
}
