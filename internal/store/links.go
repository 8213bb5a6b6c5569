package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// InsertLink adds a link by the hash of its token.
func (t *Tx) InsertLink(l *access.Link, hash string) error {
	_, err := t.exec(`INSERT INTO links
			(id, token_hash, kind, audience, account_id, user_id, email, name, role, created_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		l.ID, hash, string(l.Kind), string(l.Audience), textOrNull(l.AccountID), textOrNull(l.UserID), l.Email, l.Name,
		l.Role, l.CreatedBy, micros(l.CreatedAt), micros(l.ExpiresAt))
	return err
}

// selectLinks reads links that can still be used, each with its mail.
const selectLinks = `SELECT l.id, l.kind, l.audience, l.account_id, l.user_id, l.email, l.name, l.role, l.created_by,
		l.created_at, l.expires_at, a.name, m.created_at, m.failed_at
	FROM links l LEFT JOIN accounts a ON a.id = l.account_id LEFT JOIN mails m ON m.link_id = l.id WHERE l.used_at IS NULL`

// LinkByHash returns a link that can be used now, by the hash of its token.
func (q Queries) LinkByHash(
	ctx context.Context, a access.Audience, kind access.LinkKind, hash string, now time.Time,
) (*access.Link, error) {
	return first(q.links(ctx, selectLinks+" AND l.token_hash = $1 AND l.audience = $2 AND l.kind = $3 AND l.expires_at > $4",
		hash, string(a), string(kind), micros(now)))
}

// Invitations returns the invitations that can still be used, the newest first: to an account, or of staff with an
// empty account id.
func (q Queries) Invitations(ctx context.Context, a access.Audience, accountID string, now time.Time) ([]*access.Link, error) {
	return q.links(ctx, selectLinks+` AND l.audience = $1 AND COALESCE(l.account_id, '') = $2 AND l.kind = 'invitation'
		AND l.expires_at > $3 ORDER BY l.created_at DESC, l.id DESC`, string(a), accountID, micros(now))
}

func (q Queries) links(ctx context.Context, text string, args ...any) ([]*access.Link, error) {
	var links []*access.Link
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		l := new(access.Link)
		var accountID, userID, account sql.NullString
		var created, expires int64
		var mailed, failed sql.NullInt64
		err := scan(&l.ID, &l.Kind, &l.Audience, &accountID, &userID, &l.Email, &l.Name, &l.Role, &l.CreatedBy,
			&created, &expires, &account, &mailed, &failed)
		l.AccountID, l.Account, l.UserID = accountID.String, account.String, userID.String
		l.CreatedAt, l.ExpiresAt = timeOf(created), timeOf(expires)
		l.MailWaiting, l.MailFailed = mailed.Valid && !failed.Valid, failed.Valid
		links = append(links, l)
		return err
	})
	return links, err
}

// UseLink spends a link, or returns ErrNotFound when it was spent or withdrawn before.
func (t *Tx) UseLink(id string, now time.Time) error {
	return t.one("UPDATE links SET used_at = $1 WHERE id = $2 AND used_at IS NULL", micros(now), id)
}

// DeleteInvitation withdraws an invitation, or returns ErrNotFound when there is no such one open.
func (t *Tx) DeleteInvitation(a access.Audience, accountID, id string) error {
	return t.one(`DELETE FROM links WHERE id = $1 AND audience = $2 AND COALESCE(account_id, '') = $3
		AND kind = 'invitation' AND used_at IS NULL`, id, string(a), accountID)
}

// DeleteInvitationsTo withdraws the invitations that an email has: a new one replaces them.
func (t *Tx) DeleteInvitationsTo(a access.Audience, accountID, email string) error {
	_, err := t.exec(`DELETE FROM links WHERE audience = $1 AND COALESCE(account_id, '') = $2 AND kind = 'invitation'
		AND email = $3 AND used_at IS NULL`, string(a), accountID, email)
	return err
}

// DeleteResets withdraws the links that a person has to choose a new password.
func (t *Tx) DeleteResets(a access.Audience, userID string) error {
	_, err := t.exec("DELETE FROM links WHERE audience = $1 AND user_id = $2 AND used_at IS NULL", string(a), userID)
	return err
}
