package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Queries are the reads, outside and inside transactions.
type Queries struct {
	c conn
	d *dialect
}

// row reads at most one row into dest, or returns ErrNotFound.
func (q Queries) row(ctx context.Context, text string, args []any, dest ...any) error {
	ctx, cancel := q.limited(q.uncancelable(ctx))
	defer cancel()
	rows, err := q.c.query(ctx, text, args)
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

// scanner reads the columns of a row.
type scanner = func(dest ...any) error

// rows calls each for every row; each scans it.
func (q Queries) rows(ctx context.Context, text string, args []any, each func(scanner) error) error {
	ctx, cancel := q.limited(ctx)
	defer cancel()
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

// limited returns the context for a read outside of transactions, which have a limit of their own: a connection that
// died without a word must not hold its caller. Nothing limits a read of SQLite but the disk.
func (q Queries) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	switch q.c.(type) {
	case pool, replicaConn:
		return context.WithTimeout(ctx, readTimeout)
	}
	return ctx, func() {}
}

// collect returns what read makes of each row. Where there is none, the list is empty, not nil.
func collect[T any](
	ctx context.Context, q Queries, read func(scanner) (T, error), text string, args ...any,
) ([]T, error) {
	found := []T{}
	err := q.rows(ctx, text, args, func(scan scanner) error {
		v, err := read(scan)
		found = append(found, v)
		return err
	})
	return found, err
}

// column returns the only column of each row.
func column[T any](ctx context.Context, q Queries, text string, args ...any) ([]T, error) {
	return collect(ctx, q, func(scan scanner) (v T, err error) {
		err = scan(&v)
		return v, err
	}, text, args...)
}

// pairs returns the second of two columns by the first.
func pairs[K comparable, V any](ctx context.Context, q Queries, text string, args ...any) (map[K]V, error) {
	found := make(map[K]V)
	err := q.rows(ctx, text, args, func(scan scanner) error {
		var k K
		var v V
		err := scan(&k, &v)
		found[k] = v
		return err
	})
	return found, err
}

// value returns the only column of one row, or ErrNotFound.
func value[T any](ctx context.Context, q Queries, text string, args ...any) (v T, err error) {
	err = q.row(ctx, text, args, &v)
	return v, err
}

// exists reports whether a SELECT without its columns finds a row.
func (q Queries) exists(ctx context.Context, from string, args ...any) (bool, error) {
	n, err := value[int](ctx, q, "SELECT COUNT(*) FROM (SELECT 1 "+from+" LIMIT 1) AS found", args...)
	return n > 0, err
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

// arguments are the parameters of a statement whose text is put together.
type arguments []any

// add adds a parameter and returns its place in the text.
func (a *arguments) add(v any) string {
	*a = append(*a, v)
	return "$" + strconv.Itoa(len(*a))
}

// condition asks for a value of a column; empty: any.
type condition struct{ column, value string }

// equal returns the conditions as text that follows others.
func (a *arguments) equal(conditions []condition) string {
	where := ""
	for _, c := range conditions {
		if c.value != "" {
			where += " AND " + c.column + " = " + a.add(c.value)
		}
	}
	return where
}

// list returns "($first, $first+1, …)" with n parameters.
func list(first, n int) string { return rowsOf(first, 1, n) }

// tuples returns rows "($1, …), ($k, …)" for an INSERT of many rows.
func tuples(rows, columns int) string { return rowsOf(1, rows, columns) }

// rowTexts are the texts that rowsOf has made: few, and long where many rows are written at once.
var rowTexts sync.Map

func rowsOf(first, rows, columns int) string {
	key := [3]int{first, rows, columns}
	if text, ok := rowTexts.Load(key); ok {
		return text.(string)
	}
	var b strings.Builder
	b.WriteByte('(')
	for i := range rows * columns {
		switch {
		case i == 0:
		case i%columns == 0:
			b.WriteString("),(")
		default:
			b.WriteByte(',')
		}
		b.WriteString("$" + strconv.Itoa(first+i))
	}
	b.WriteByte(')')
	rowTexts.Store(key, b.String())
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

func anys[T any](values []T) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	return args
}

// literal returns a word of the program, such as a status, as it stands in a text where planners have to see it to
// choose a partial index. Everything else is a parameter. What is no such word becomes one that no row has.
func literal[S ~string](word S) string {
	for _, c := range []byte(word) {
		if (c < 'a' || c > 'z') && c != '-' {
			return "''"
		}
	}
	return "'" + string(word) + "'"
}

// in adds words to the arguments and returns "($1,$2)" for them.
func in[S ~string](a *arguments, words []S) string {
	marks := make([]string, len(words))
	for i, w := range words {
		marks[i] = a.add(string(w))
	}
	return "(" + strings.Join(marks, ",") + ")"
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

func timeOf(m int64) time.Time { return time.UnixMicro(m).UTC() }

func timeOrNil(m sql.NullInt64) *time.Time {
	if !m.Valid {
		return nil
	}
	t := timeOf(m.Int64)
	return &t
}

// asTime returns where to scan a time; NULL is the zero time.
func asTime(to *time.Time) timeColumn { return timeColumn{to} }

type timeColumn struct{ to *time.Time }

func (c timeColumn) Scan(v any) error {
	m, err := scanInt(v)
	if *c.to = (time.Time{}); m.Valid {
		*c.to = timeOf(m.Int64)
	}
	return err
}

// scanInt is sql.NullInt64.Scan without its reflection for what both drivers give: lists scan thousands of these.
func scanInt(v any) (m sql.NullInt64, err error) {
	if n, ok := v.(int64); ok {
		return sql.NullInt64{Int64: n, Valid: true}, nil
	}
	err = m.Scan(v)
	return m, err
}

// asTimeOrNil returns where to scan a time; NULL is nil.
func asTimeOrNil(to **time.Time) nullTimeColumn { return nullTimeColumn{to} }

type nullTimeColumn struct{ to **time.Time }

func (c nullTimeColumn) Scan(v any) error {
	m, err := scanInt(v)
	*c.to = timeOrNil(m)
	return err
}

// asText returns where to scan a text; NULL is the empty string.
func asText[S ~string](to *S) textColumn[S] { return textColumn[S]{to} }

type textColumn[S ~string] struct{ to *S }

func (c textColumn[S]) Scan(v any) error {
	if text, ok := v.(string); ok {
		*c.to = S(text)
		return nil
	}
	var s sql.NullString
	err := s.Scan(v)
	*c.to = S(s.String)
	return err
}
