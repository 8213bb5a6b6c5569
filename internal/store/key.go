package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// InsertKey adds an API key by the hash of its secret.
func (t *Tx) InsertKey(k *access.Key, hash string) error {
	limits, err := json.Marshal(k.Limits)
	if err != nil {
		return err
	}
	return t.db.Insert(`api_keys (id, account_id, environment, name, hash, hint, scopes, limits, networks, created_by,
		created_at, expires_at)`, k.ID, k.AccountID, string(k.Environment), k.Name, hash, k.Hint,
		access.JoinScopes(k.Scopes), string(limits), k.Networks.String(), k.CreatedBy, column.Micros(k.CreatedAt),
		column.MicrosOrNull(k.ExpiresAt))
}

const keyColumns = `id, account_id, environment, name, hint, scopes, limits, networks, created_by, created_at,
	expires_at, revoked_at, last_used_at`

// KeyByHash returns the key whose secret has the hash, revoked or not.
func (q Queries) KeyByHash(ctx context.Context, hash string) (*access.Key, error) {
	return db.First(q.keys(q.db.Uncancelable(ctx), "hash = $1", hash))
}

// Key returns a key by its id.
func (q Queries) Key(ctx context.Context, id string) (*access.Key, error) {
	return db.First(q.keys(q.db.Uncancelable(ctx), "id = $1", id))
}

// Keys returns all keys of an account, oldest first.
func (q Queries) Keys(ctx context.Context, accountID string) ([]*access.Key, error) {
	return q.keys(ctx, "account_id = $1 ORDER BY created_at, id", accountID)
}

func (q Queries) keys(ctx context.Context, where, arg string) ([]*access.Key, error) {
	return db.Collect(ctx, q.db, scanKey, "SELECT "+keyColumns+" FROM api_keys WHERE "+where, arg)
}

func scanKey(scan db.Scanner) (*access.Key, error) {
	k := new(access.Key)
	var scopes, limits, networks string
	if err := scan(&k.ID, &k.AccountID, &k.Environment, &k.Name, &k.Hint, &scopes, &limits, &networks, &k.CreatedBy,
		column.Time(&k.CreatedAt), column.TimeOrNil(&k.ExpiresAt), column.TimeOrNil(&k.RevokedAt),
		column.TimeOrNil(&k.LastUsedAt)); err != nil {
		return nil, err
	}
	k.Scopes = access.SplitScopes(scopes)
	var err error
	if k.Networks, err = parseNetworks(networks); err != nil {
		return nil, fmt.Errorf("key %s: %w", k.ID, err)
	}
	return k, json.Unmarshal([]byte(limits), &k.Limits)
}

// CountKeys returns how many keys of an account are not revoked.
func (q Queries) CountKeys(ctx context.Context, accountID string) (int, error) {
	return db.Value[int](ctx, q.db, "SELECT COUNT(*) FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL",
		accountID)
}

// RevokeKey marks a key as revoked; it reports whether it was not so before.
func (t *Tx) RevokeKey(id string, at time.Time) (bool, error) {
	return t.changed("UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", column.Micros(at), id)
}

// LockKey makes transactions that change one API key or its endpoints run one after the other.
func (t *Tx) LockKey(keyID string) error {
	_, err := db.Value[string](t.Context(), t.db.Queries, "SELECT id FROM api_keys WHERE id = $1"+t.db.Dialect.ForUpdate,
		keyID)
	return err
}

// TouchKey notes a use of a key, unless a later one is noted.
func (t *Tx) TouchKey(id string, at time.Time) error {
	return t.exec(`UPDATE api_keys SET last_used_at = $1
		WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)`, column.Micros(at), id)
}

// RenameKey gives a key another name, or returns ErrNotFound.
func (t *Tx) RenameKey(id, name string) error {
	return t.db.One("UPDATE api_keys SET name = $1 WHERE id = $2", name, id)
}

// SetKeyNetworks replaces where a key may be used from, or returns ErrNotFound.
func (t *Tx) SetKeyNetworks(id string, networks access.Networks) error {
	return t.db.One("UPDATE api_keys SET networks = $1 WHERE id = $2", networks.String(), id)
}

// SetKeyLimits replaces the limits of a key, or returns ErrNotFound.
func (t *Tx) SetKeyLimits(id string, limits map[string]int) error {
	text, err := json.Marshal(limits)
	if err != nil {
		return err
	}
	return t.db.One("UPDATE api_keys SET limits = $1 WHERE id = $2", string(text), id)
}

// parseNetworks reads networks as they are stored.
func parseNetworks(stored string) (access.Networks, error) {
	networks, problem := access.CheckNetworks("networks", access.SplitNetworks(stored))
	if problem != nil {
		return nil, fmt.Errorf("networks: %s", problem.Message)
	}
	return networks, nil
}
