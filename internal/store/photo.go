package store

import (
	"context"
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
	return err
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
	found, err := t.names(t.ctx, `DELETE FROM photos WHERE name IN (
		SELECT name FROM photos WHERE used = 0 AND created_at < $1 ORDER BY created_at LIMIT $2`+t.d.skipLocked+`) AND used = 0 RETURNING name`,
		[]any{micros(before), limit})
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	return names, err
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
