package store

import (
	"context"
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

// KeepSessions ends the sessions of a user but for so many that were used last, and returns how many.
func (t *Tx) KeepSessions(audience access.Audience, userID string, keep int) (int64, error) {
	return t.db.Exec(`DELETE FROM sessions WHERE audience = $1 AND user_id = $2 AND id NOT IN (
		SELECT id FROM sessions WHERE audience = $1 AND user_id = $2 ORDER BY last_seen_at DESC, id DESC LIMIT $3)`,
		string(audience), userID, keep)
}

// DeleteSessions ends all sessions of a user except one, which may be empty, and returns how many.
func (t *Tx) DeleteSessions(audience access.Audience, userID, exceptID string) (int64, error) {
	return t.db.Exec("DELETE FROM sessions WHERE audience = $1 AND user_id = $2 AND id <> $3",
		string(audience), userID, exceptID)
}
