package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// PhotoRow is what is known of an uploaded photo.
type PhotoRow struct {
	Name         string
	AccountID    string
	Environment  access.Environment
	SHA256       string
	Bytes        int64
	Width        int
	Height       int
	OriginalName string
	CreatedAt    time.Time
}

// InsertPhotos adds uploaded photos.
func (t *Tx) InsertPhotos(photos []PhotoRow) error {
	const columns = 9
	args := make([]any, 0, columns*len(photos))
	for i := range photos {
		p := &photos[i]
		args = append(args, p.Name, p.AccountID, string(p.Environment), p.SHA256, p.Bytes, p.Width, p.Height, p.OriginalName, micros(p.CreatedAt))
	}
	_, err := t.exec("INSERT INTO photos (name, account_id, environment, sha256, bytes, width, height, original_name, created_at) VALUES "+
		tuples(len(photos), columns), args...)
	if err != nil {
		return err
	}
	return t.countPhotos(photos, 1)
}

// UsePhotos marks the photos as used and returns which of the names exist for the account and environment. A photo that
// is in use stays so for good: it is only read, so that orders with the same photos do not wait for each other.
func (t *Tx) UsePhotos(accountID string, env access.Environment, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	text, args := photosByName("UPDATE photos SET used = 1 WHERE used = 0 AND name IN ", accountID, env, names)
	known, err := t.names(t.ctx, text+" RETURNING name", args)
	if err != nil || len(known) == len(names) {
		return known, err
	}
	return t.KnownPhotos(t.ctx, accountID, env, names)
}

// KnownPhotos returns which of the names exist for the account and environment.
func (q Queries) KnownPhotos(ctx context.Context, accountID string, env access.Environment, names []string) (map[string]bool, error) {
	text, args := photosByName("SELECT name FROM photos WHERE name IN ", accountID, env, names)
	return q.names(ctx, text, args)
}

func photosByName(text, accountID string, env access.Environment, names []string) (string, []any) {
	args := make([]any, 0, len(names)+2)
	args = append(args, accountID, string(env))
	for _, n := range names {
		args = append(args, n)
	}
	return text + list(3, len(names)) + " AND account_id = $1 AND environment = $2", args
}

func (q Queries) names(ctx context.Context, text string, args []any) (map[string]bool, error) {
	found := make(map[string]bool, len(args))
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		found[name] = true
		return err
	})
	return found, err
}

// DeleteUnusedPhotos removes the rows of up to limit photos that no order has used and that are older than before,
// and returns their names: the files are deleted after the transaction.
func (t *Tx) DeleteUnusedPhotos(before time.Time, limit int) ([]string, error) {
	var deleted []PhotoRow
	err := t.rows(t.ctx, `DELETE FROM photos WHERE name IN (
		SELECT name FROM photos WHERE used = 0 AND created_at < $1 ORDER BY created_at LIMIT $2`+t.d.skipLocked+`) AND used = 0
		RETURNING name, account_id, environment, bytes`, []any{micros(before), limit}, func(scan func(...any) error) error {
		var p PhotoRow
		err := scan(&p.Name, &p.AccountID, &p.Environment, &p.Bytes)
		deleted = append(deleted, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(deleted))
	for i := range deleted {
		names[i] = deleted[i].Name
	}
	return names, t.countPhotos(deleted, -1)
}

// countPhotos adds photos to the totals of their accounts, or takes them away.
func (t *Tx) countPhotos(photos []PhotoRow, sign int64) error {
	type owner struct {
		account string
		env     access.Environment
	}
	totals := make(map[owner]PhotoTotals)
	for i := range photos {
		o := owner{photos[i].AccountID, photos[i].Environment}
		n := totals[o]
		totals[o] = PhotoTotals{n.Photos + sign, n.Bytes + sign*photos[i].Bytes}
	}
	owners := slices.SortedFunc(maps.Keys(totals), func(a, b owner) int { // always in the same order: none waits for the other
		return cmp.Or(strings.Compare(a.account, b.account), strings.Compare(string(a.env), string(b.env)))
	})
	for _, o := range owners {
		if _, err := t.exec(`INSERT INTO photo_totals (account_id, environment, photos, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT (account_id, environment)
			DO UPDATE SET photos = photo_totals.photos + excluded.photos, bytes = photo_totals.bytes + excluded.bytes`,
			o.account, string(o.env), totals[o].Photos, totals[o].Bytes); err != nil {
			return err
		}
	}
	return nil
}

// PhotoTotals is how many photos there are, and how many bytes they have.
type PhotoTotals struct{ Photos, Bytes int64 }

// PhotoTotals returns the totals of all accounts and environments.
func (q Queries) PhotoTotals(ctx context.Context) (PhotoTotals, error) {
	var n PhotoTotals
	err := q.row(ctx, "SELECT CAST(COALESCE(SUM(photos), 0) AS BIGINT), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM photo_totals", nil, &n.Photos, &n.Bytes)
	return n, err
}

// HasUnusedPhotos reports whether there are photos that no order has used and that are older than before.
func (q Queries) HasUnusedPhotos(ctx context.Context, before time.Time) (bool, error) {
	var n int
	err := q.row(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM photos WHERE used = 0 AND created_at < $1 LIMIT 1) AS found", []any{micros(before)}, &n)
	return n > 0, err
}

// list returns "($first, $first+1, …)" with n parameters.
func list(first, n int) string {
	var b strings.Builder
	b.WriteByte('(')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(first + i))
	}
	b.WriteByte(')')
	return b.String()
}

// tuples returns rows "($1, …), ($k, …)" for an INSERT of many rows.
func tuples(rows, columns int) string {
	var b strings.Builder
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString(list(1+r*columns, columns))
	}
	return b.String()
}
