package store

import (
	"context"

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
		if _, err := t.exec("INSERT INTO balances (account_id, environment, credits) VALUES ($1, $2, 0)", a.ID, string(e)); err != nil {
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
