package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Queries are the reads, outside and inside transactions.
type Queries struct {
	c conn
	d *dialect
}

// row reads at most one row into dest, or returns ErrNotFound.
func (q Queries) row(ctx context.Context, text string, args []any, dest ...any) error {
	rows, err := q.c.query(q.uncancelable(ctx), text, args)
	if err != nil {
		return Classify(err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return Classify(err)
		}
		return ErrNotFound
	}
	if err := rows.Scan(dest...); err != nil {
		return Classify(err)
	}
	return Classify(rows.Close())
}

// rows calls each for every row; each scans it.
func (q Queries) rows(ctx context.Context, text string, args []any, each func(scan func(...any) error) error) error {
	rows, err := q.c.query(ctx, text, args)
	if err != nil {
		return Classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return Classify(err)
		}
	}
	return Classify(rows.Err())
}

// uncancelable returns the context for a read of few rows. In SQLite such a read takes less time than the two
// goroutines that would watch ctx; in PostgreSQL watching ctx is what ends a wait for the network.
func (q Queries) uncancelable(ctx context.Context) context.Context {
	if q.d == &sqliteDialect && ctx.Err() == nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// first returns the first of what was found, or ErrNotFound.
func first[T any](found []T, err error) (T, error) {
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return found[0], nil
}

func (q Queries) idList(ctx context.Context, text string, args []any) ([]string, error) {
	var ids []string
	err := q.rows(ctx, text, args, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
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

// batchSizes are the lengths of lists in statements: few, so that few statements are prepared, and none very long,
// because SQLite takes the longer for a parameter the more there are.
var batchSizes = [...]int{32, 8, 2, 1}

// inBatches calls f for all items in batches of these lengths.
func inBatches[T any](items []T, f func([]T) error) error {
	for _, size := range batchSizes {
		for len(items) >= size {
			if err := f(items[:size]); err != nil {
				return err
			}
			items = items[size:]
		}
	}
	return nil
}

func anys(ids []string) []any {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return args
}

// quoted returns "('a','b')" for words of the program.
func quoted[S ~string](words []S) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("'" + string(w) + "'")
	}
	return "(" + b.String() + ")"
}

// likePattern takes the meaning from what LIKE would read as a pattern.
var likePattern = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// micros is the stored form of a time.
func micros(t time.Time) int64 { return t.UnixMicro() }

func microsOrNull(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMicro()
}

func timeOf(m int64) time.Time { return time.UnixMicro(m).UTC() }

func timeOrNil(m sql.NullInt64) *time.Time {
	if !m.Valid {
		return nil
	}
	t := timeOf(m.Int64)
	return &t
}

// textOrNull stores the empty string as NULL, for columns where absence is the only empty value.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// binaryText is the stored form of bytes: both engines keep text exactly, and a dump can hold it.
func binaryText(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func binaryOf(s string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("stored bytes: %w", err)
	}
	return b, nil
}
