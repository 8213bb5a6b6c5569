package store

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// KeyOf returns a key of the account.
func (q Queries) KeyOf(ctx context.Context, accountID, id string) (*access.Key, error) {
	k, err := q.Key(ctx, id)
	if err == nil && k.AccountID != accountID {
		return nil, ErrNotFound
	}
	return k, err
}

// KeyUses returns when the keys of an account were last used, by id, as far as they were.
func (q Queries) KeyUses(ctx context.Context, accountID string) (map[string]time.Time, error) {
	uses := make(map[string]time.Time)
	err := q.rows(ctx, "SELECT id, last_used_at FROM api_keys WHERE account_id = $1 AND last_used_at IS NOT NULL", []any{accountID},
		func(scan func(...any) error) error {
			var id string
			var at int64
			err := scan(&id, &at)
			uses[id] = timeOf(at)
			return err
		})
	return uses, err
}

// TouchKey notes a use of a key, unless a later one is noted.
func (t *Tx) TouchKey(id string, at time.Time) error {
	_, err := t.exec("UPDATE api_keys SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)", micros(at), id)
	return err
}

// RenameKey gives a key of the account another name, or returns ErrNotFound when it has none that is not revoked.
func (t *Tx) RenameKey(accountID, id, name string) error {
	return t.one("UPDATE api_keys SET name = $1 WHERE id = $2 AND account_id = $3 AND revoked_at IS NULL", name, id, accountID)
}

// SetKeyNetworks replaces where a key of the account may be used from, or returns ErrNotFound when it has none that is not
// revoked.
func (t *Tx) SetKeyNetworks(accountID, id string, networks access.Networks) error {
	return t.one("UPDATE api_keys SET networks = $1 WHERE id = $2 AND account_id = $3 AND revoked_at IS NULL", networks.String(), id, accountID)
}
