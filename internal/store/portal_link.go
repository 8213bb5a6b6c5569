package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// LinkKind is what a link of the portal is for.
type LinkKind string

// The kinds of links.
const (
	Invitation    LinkKind = "invitation"     // to join an account
	PasswordReset LinkKind = "password-reset" // to choose a new password
)

// PortalLink lets somebody in without a password, once.
type PortalLink struct {
	ID        string
	Kind      LinkKind
	AccountID string
	UserID    string // of a password reset
	Email     string
	Role      access.Role // of an invitation: the role that the user gets
	CreatedBy string      // a user, or operator
	CreatedAt time.Time
	ExpiresAt time.Time
}

// InsertLink adds a link by the hash of its token.
func (t *Tx) InsertLink(l *PortalLink, hash string) error {
	_, err := t.exec(`INSERT INTO portal_links (id, token_hash, kind, account_id, user_id, email, role, created_by, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		l.ID, hash, string(l.Kind), l.AccountID, textOrNull(l.UserID), l.Email, string(l.Role), l.CreatedBy, micros(l.CreatedAt), micros(l.ExpiresAt))
	return err
}

const linkColumns = "id, kind, account_id, user_id, email, role, created_by, created_at, expires_at"

// LinkByHash returns a link that can be used now, by the hash of its token.
func (q Queries) LinkByHash(ctx context.Context, kind LinkKind, hash string, now time.Time) (*PortalLink, error) {
	found, err := q.links(ctx, "SELECT "+linkColumns+" FROM portal_links WHERE token_hash = $1 AND kind = $2 AND used_at IS NULL AND expires_at > $3",
		hash, string(kind), micros(now))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNotFound
	}
	return found[0], nil
}

// Invitations returns the invitations of an account that can still be used, the newest first.
func (q Queries) Invitations(ctx context.Context, accountID string, now time.Time) ([]*PortalLink, error) {
	return q.links(ctx, "SELECT "+linkColumns+` FROM portal_links WHERE account_id = $1 AND kind = 'invitation' AND used_at IS NULL AND expires_at > $2
		ORDER BY created_at DESC, id DESC`, accountID, micros(now))
}

func (q Queries) links(ctx context.Context, text string, args ...any) ([]*PortalLink, error) {
	var links []*PortalLink
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		l := new(PortalLink)
		var userID sql.NullString
		var created, expires int64
		err := scan(&l.ID, &l.Kind, &l.AccountID, &userID, &l.Email, &l.Role, &l.CreatedBy, &created, &expires)
		l.UserID, l.CreatedAt, l.ExpiresAt = userID.String, timeOf(created), timeOf(expires)
		links = append(links, l)
		return err
	})
	return links, err
}

// UseLink spends a link, or returns ErrNotFound when it was spent or taken back before.
func (t *Tx) UseLink(id string, now time.Time) error {
	return t.one("UPDATE portal_links SET used_at = $1 WHERE id = $2 AND used_at IS NULL", micros(now), id)
}

// DeleteInvitation takes an invitation back, or returns ErrNotFound when the account has no such one open.
func (t *Tx) DeleteInvitation(accountID, id string) error {
	return t.one("DELETE FROM portal_links WHERE id = $1 AND account_id = $2 AND kind = 'invitation' AND used_at IS NULL", id, accountID)
}

// DeleteInvitationsTo takes back what invitations an email has to an account: a new one replaces them.
func (t *Tx) DeleteInvitationsTo(accountID, email string) error {
	_, err := t.exec("DELETE FROM portal_links WHERE account_id = $1 AND kind = 'invitation' AND email = $2 AND used_at IS NULL", accountID, email)
	return err
}

// DeleteResets takes back what links a user has to choose a new password.
func (t *Tx) DeleteResets(userID string) error {
	_, err := t.exec("DELETE FROM portal_links WHERE user_id = $1 AND used_at IS NULL", userID)
	return err
}
