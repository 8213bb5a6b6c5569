package store

import (
	"context"
	"fmt"
	"strings"

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

// likePattern takes the meaning from what LIKE would read as a pattern.
var likePattern = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// EmailTaken reports whether an account user has the normalised email, also one who has left.
func (q Queries) EmailTaken(ctx context.Context, email string) (bool, error) {
	var n int
	err := q.row(ctx, "SELECT COUNT(*) FROM users WHERE email = $1", []any{email}, &n)
	return n > 0, err
}
