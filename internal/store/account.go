package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
)

// InsertAccount adds an account with its two balances; ErrExists when the name is taken.
func (t *Tx) InsertAccount(a *access.Account) error {
	if _, err := t.exec("INSERT INTO accounts (id, name, locale, created_at) VALUES ($1, $2, $3, $4)",
		a.ID, a.Name, string(a.Locale), micros(a.CreatedAt)); err != nil {
		return err
	}
	for _, e := range access.Environments {
		if _, err := t.exec(`INSERT INTO balances (account_id, environment, credits)
				VALUES ($1, $2, 0)`, a.ID, string(e)); err != nil {
			return err
		}
	}
	return nil
}

const accountColumns = "id, name, locale, created_at"

// Account returns an account by its id.
func (q Queries) Account(ctx context.Context, id string) (*access.Account, error) {
	return q.account(ctx, "SELECT "+accountColumns+" FROM accounts WHERE id = $1", id)
}

// AccountByName returns an account by its exact name.
func (q Queries) AccountByName(ctx context.Context, name string) (*access.Account, error) {
	return q.account(ctx, "SELECT "+accountColumns+" FROM accounts WHERE name = $1", name)
}

func (q Queries) account(ctx context.Context, text string, arg any) (*access.Account, error) {
	a := new(access.Account)
	var created int64
	if err := q.row(ctx, text, []any{arg}, &a.ID, &a.Name, &a.Locale, &created); err != nil {
		return nil, err
	}
	a.CreatedAt = timeOf(created)
	return a, nil
}

// AccountIDs returns every account's id by its name.
func (q Queries) AccountIDs(ctx context.Context) (map[string]string, error) {
	ids := make(map[string]string)
	err := q.rows(ctx, "SELECT id, name FROM accounts", nil, func(scan func(...any) error) error {
		var id, name string
		err := scan(&id, &name)
		ids[name] = id
		return err
	})
	return ids, err
}

// SetAccountLocale replaces the language of an account's webhook payloads and mail.
func (t *Tx) SetAccountLocale(id string, l text.Locale) error {
	return t.one("UPDATE accounts SET locale = $1 WHERE id = $2", string(l), id)
}

// AccountSummaries returns a page of the accounts by name, and how many match. A search finds part of the name or of a
// user's email in any case, or the whole id. There are few accounts beside orders: they may be counted.
func (q Queries) AccountSummaries(
	ctx context.Context, search string, page, limit int,
) ([]access.AccountSummary, int64, error) {
	where := ""
	var args []any
	if search = strings.ToLower(search); search != "" {
		where = ` WHERE LOWER(a.name) LIKE $1 ESCAPE '!' OR a.id = $2
			OR EXISTS (SELECT 1 FROM users WHERE users.account_id = a.id AND users.email LIKE $1 ESCAPE '!')`
		args = []any{"%" + likePattern.Replace(search) + "%", search}
	}
	var total int64
	if err := q.row(ctx, "SELECT COUNT(*) FROM accounts a"+where, args, &total); err != nil {
		return nil, 0, err
	}
	offset := int64(page-1) * int64(limit)
	if offset >= total {
		return nil, total, nil
	}
	var found []access.AccountSummary
	err := q.rows(ctx, `SELECT a.id, a.name, a.locale, a.created_at, live.credits, test.credits, live.orders,
		(SELECT COUNT(*) FROM api_keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL)
		FROM accounts a JOIN balances live ON live.account_id = a.id AND live.environment = 'live'
		JOIN balances test ON test.account_id = a.id AND test.environment = 'test'`+where+
		fmt.Sprintf(" ORDER BY LOWER(a.name), a.id LIMIT $%d OFFSET $%d", len(args)+1, len(args)+2),
		append(args, limit, offset),
		func(scan func(...any) error) error {
			var s access.AccountSummary
			var created int64
			err := scan(&s.ID, &s.Name, &s.Locale, &created, &s.LiveCredits, &s.TestCredits, &s.LiveOrders, &s.ActiveKeys)
			s.CreatedAt = timeOf(created)
			found = append(found, s)
			return err
		})
	return found, total, err
}

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

// EmailTaken reports whether an account user has the normalised email, also one who has left.
func (q Queries) EmailTaken(ctx context.Context, email string) (bool, error) {
	var n int
	err := q.row(ctx, "SELECT COUNT(*) FROM users WHERE email = $1", []any{email}, &n)
	return n > 0, err
}
