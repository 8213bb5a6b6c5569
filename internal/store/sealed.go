package store

import (
	"context"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// SealedKeys returns the random keys that the installation keeps, sealed, by label.
func (q Queries) SealedKeys(ctx context.Context) (map[string]string, error) {
	return db.Pairs[string, string](ctx, q.db, "SELECT id, sealed FROM sealed_keys")
}

// Begun returns when the installation was begun, which a backup keeps; zero: it is not yet.
func (q Queries) Begun(ctx context.Context) (time.Time, error) {
	at, err := db.Value[int64](ctx, q.db, "SELECT COALESCE(MIN(created_at), 0) FROM sealed_keys")
	if err != nil || at == 0 {
		return time.Time{}, err
	}
	return column.TimeOf(at), nil
}

// InsertSealedKey keeps a key, unless one with the label is kept already.
func (t *Tx) InsertSealedKey(label, sealed string, at time.Time) error {
	return t.exec("INSERT INTO sealed_keys (id, sealed, created_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
		label, sealed, column.Micros(at))
}

// SealedColumn is a column whose values are sealed with the secret key.
type SealedColumn struct {
	table, id, sealed string
	used              string // a condition: values that are not in use any more count for nothing
}

// The columns with sealed values: TestEverythingSealedIsListed checks that there are no others.
var (
	KeptKeys        = SealedColumn{"sealed_keys", "id", "sealed", ""}
	EndpointSecrets = SealedColumn{"webhook_endpoints", "id", "sealed_secret", ""}
	FactorSecrets   = SealedColumn{"totp", "user_id", "sealed_secret", ""}
	MailContents    = SealedColumn{"mails", "id", "sealed", ""}
)

// PreviousSecrets is the column of the secrets that endpoints had before, as far as they are valid at a time.
func PreviousSecrets(at time.Time) SealedColumn {
	until := strconv.FormatInt(column.Micros(at), 10)
	return SealedColumn{"webhook_endpoints", "id", "sealed_previous", " AND previous_until > " + until}
}

// String names the column for people.
func (c SealedColumn) String() string { return c.table }

// SealedValue is a value of a sealed column, with the id of its row.
type SealedValue struct{ ID, Sealed string }

// SealedAfter returns up to limit values whose ids follow the given one and that do not begin with the prefix, in the
// order of ids. An empty value is none; an empty prefix is that of none.
func (q Queries) SealedAfter(
	ctx context.Context, c SealedColumn, id, prefix string, limit int,
) ([]SealedValue, error) {
	if prefix == "" {
		prefix = " " // no sealed value begins with it
	}
	return db.Collect(ctx, q.db, func(scan db.Scanner) (v SealedValue, err error) {
		err = scan(&v.ID, &v.Sealed)
		return v, err
	}, "SELECT "+c.id+", "+c.sealed+" FROM "+c.table+" WHERE "+c.id+" > $1 AND "+c.sealed+" <> ''"+
		" AND "+c.sealed+" NOT LIKE $2"+c.used+" ORDER BY "+c.id+" LIMIT $3", id, prefix+"%", limit)
}

// CountSealed returns how many values SealedAfter would return one after the other.
func (q Queries) CountSealed(ctx context.Context, c SealedColumn, prefix string) (int64, error) {
	if prefix == "" {
		prefix = " "
	}
	return db.Value[int64](ctx, q.db,
		"SELECT COUNT(*) FROM "+c.table+" WHERE "+c.sealed+" <> '' AND "+c.sealed+" NOT LIKE $1"+c.used, prefix+"%")
}

// Reseal replaces a sealed value, or returns ErrNotFound where it has changed meanwhile.
func (t *Tx) Reseal(c SealedColumn, v SealedValue, sealed string) error {
	return t.db.One("UPDATE "+c.table+" SET "+c.sealed+" = $1 WHERE "+c.id+" = $2 AND "+c.sealed+" = $3",
		sealed, v.ID, v.Sealed)
}
