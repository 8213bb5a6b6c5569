package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// InsertSession adds a session by the hash of its secret.
func (t *Tx) InsertSession(s *access.Session, hash string) error {
	_, err := t.exec(`INSERT INTO sessions (id, token_hash, audience, user_id, ip, user_agent, created_at, last_seen_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		s.ID, hash, string(s.Audience), s.UserID, textOrNull(s.IP), textOrNull(s.UserAgent),
		micros(s.CreatedAt), micros(s.LastSeenAt), micros(s.ExpiresAt))
	return err
}

const sessionColumns = "id, audience, user_id, ip, user_agent, created_at, last_seen_at, expires_at"

// SessionByHash returns the session of an audience whose secret has the hash, ended or not.
func (q Queries) SessionByHash(ctx context.Context, audience access.Audience, hash string) (*access.Session, error) {
	return first(q.sessions(ctx, "SELECT "+sessionColumns+" FROM sessions WHERE token_hash = $1 AND audience = $2",
		hash, string(audience)))
}

// Sessions returns a user's sessions that have not ended, the newest first.
func (q Queries) Sessions(
	ctx context.Context, audience access.Audience, userID string, now time.Time,
) ([]*access.Session, error) {
	return q.sessions(ctx, "SELECT "+sessionColumns+` FROM sessions WHERE audience = $1 AND user_id = $2 AND expires_at > $3
		ORDER BY created_at DESC, id DESC`, string(audience), userID, micros(now))
}

func (q Queries) sessions(ctx context.Context, text string, args ...any) ([]*access.Session, error) {
	var sessions []*access.Session
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		s := new(access.Session)
		var ip, agent sql.NullString
		var created, seen, expires int64
		err := scan(&s.ID, &s.Audience, &s.UserID, &ip, &agent, &created, &seen, &expires)
		s.IP, s.UserAgent = ip.String, agent.String
		s.CreatedAt, s.LastSeenAt, s.ExpiresAt = timeOf(created), timeOf(seen), timeOf(expires)
		sessions = append(sessions, s)
		return err
	})
	return sessions, err
}

// TouchSession stores the last use of a session. One that is gone meanwhile stays gone.
func (t *Tx) TouchSession(s *access.Session) error {
	_, err := t.exec("UPDATE sessions SET last_seen_at = $1, expires_at = $2 WHERE id = $3 AND last_seen_at < $1",
		micros(s.LastSeenAt), micros(s.ExpiresAt), s.ID)
	return err
}

// HoldSession keeps a session of a user from ending before the transaction does, or returns ErrNotFound when it has ended.
func (t *Tx) HoldSession(audience access.Audience, userID, id string) error {
	return t.one("UPDATE sessions SET user_id = user_id WHERE id = $1 AND audience = $2 AND user_id = $3",
		id, string(audience), userID)
}

// DeleteSession ends one session of a user, or returns ErrNotFound.
func (t *Tx) DeleteSession(audience access.Audience, userID, id string) error {
	return t.one("DELETE FROM sessions WHERE id = $1 AND audience = $2 AND user_id = $3", id, string(audience), userID)
}

// DeleteSessions ends all sessions of a user except one, which may be empty, and returns how many.
func (t *Tx) DeleteSessions(audience access.Audience, userID, exceptID string) (int64, error) {
	return t.exec("DELETE FROM sessions WHERE audience = $1 AND user_id = $2 AND id <> $3", string(audience), userID, exceptID)
}

// DeleteExpiredSessions removes up to limit sessions that have ended, and returns how many.
func (t *Tx) DeleteExpiredSessions(now time.Time, limit int) (int64, error) {
	return t.exec(`DELETE FROM sessions WHERE id IN
		(SELECT id FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2`+t.d.skipLocked+`)`, micros(now), limit)
}
