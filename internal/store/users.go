package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// InsertUser adds an account user; ErrExists when the email is taken.
func (t *Tx) InsertUser(u *access.User) error {
	_, err := t.exec("INSERT INTO users (id, account_id, email, role, password_hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
		u.ID, u.AccountID, u.Email, string(u.Role), u.PasswordHash, micros(u.CreatedAt))
	return err
}

const userColumns = "id, account_id, email, role, password_hash, created_at"

// User returns an account user who has not left.
func (q Queries) User(ctx context.Context, id string) (*access.User, error) {
	return q.user(ctx, "SELECT "+userColumns+" FROM users WHERE id = $1 AND removed_at IS NULL", id)
}

// UserByEmail returns an account user who has not left by the normalised email.
func (q Queries) UserByEmail(ctx context.Context, email string) (*access.User, error) {
	return q.user(ctx, "SELECT "+userColumns+" FROM users WHERE email = $1 AND removed_at IS NULL", email)
}

// FormerUser returns a user who has left the account, by the normalised email.
func (q Queries) FormerUser(ctx context.Context, accountID, email string) (*access.User, error) {
	return q.user(ctx, "SELECT "+userColumns+" FROM users WHERE account_id = $1 AND email = $2 AND removed_at IS NOT NULL",
		accountID, email)
}

// Owner returns the first owner of an account.
func (q Queries) Owner(ctx context.Context, accountID string) (*access.User, error) {
	return q.user(ctx, "SELECT "+userColumns+` FROM users WHERE account_id = $1 AND role = 'owner'
		ORDER BY created_at, id LIMIT 1`, accountID)
}

func (q Queries) user(ctx context.Context, statement string, args ...any) (*access.User, error) {
	return first(q.users(ctx, statement, args...))
}

// Users returns the users of an account who have not left, the longest there first.
func (q Queries) Users(ctx context.Context, accountID string) ([]*access.User, error) {
	return q.users(ctx, "SELECT "+userColumns+` FROM users WHERE account_id = $1 AND removed_at IS NULL
		ORDER BY created_at, id`, accountID)
}

func (q Queries) users(ctx context.Context, statement string, args ...any) ([]*access.User, error) {
	var users []*access.User
	err := q.rows(ctx, statement, args, func(scan func(...any) error) error {
		u := new(access.User)
		var created int64
		err := scan(&u.ID, &u.AccountID, &u.Email, &u.Role, &u.PasswordHash, &created)
		u.CreatedAt = timeOf(created)
		users = append(users, u)
		return err
	})
	return users, err
}

// LockTeam makes transactions that change the users of one account run one after the other.
func (t *Tx) LockTeam(accountID string) error {
	var id string
	return t.row(t.ctx, "SELECT id FROM accounts WHERE id = $1"+t.d.forUpdate, []any{accountID}, &id)
}

// SetUserEmail replaces the email of a user; ErrExists when another user has it.
func (t *Tx) SetUserEmail(id, email string) error {
	return t.one("UPDATE users SET email = $1 WHERE id = $2 AND removed_at IS NULL", email, id)
}

// SetUserRole replaces the role of a user of the account.
func (t *Tx) SetUserRole(accountID, id string, role access.Role) error {
	return t.one("UPDATE users SET role = $1 WHERE id = $2 AND account_id = $3 AND removed_at IS NULL",
		string(role), id, accountID)
}

// RemoveUser marks a user of the account as gone, without any power.
func (t *Tx) RemoveUser(accountID, id string, at time.Time) error {
	return t.one(`UPDATE users SET removed_at = $1, role = 'viewer'
		WHERE id = $2 AND account_id = $3 AND removed_at IS NULL`, micros(at), id, accountID)
}

// RestoreUser brings a user back who has left, with another role and password.
func (t *Tx) RestoreUser(id string, role access.Role, hash string) error {
	return t.one(`UPDATE users SET removed_at = NULL, role = $1, password_hash = $2
		WHERE id = $3 AND removed_at IS NOT NULL`, string(role), hash, id)
}
