package db

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"
)

// Queries are the reads, outside and inside transactions.
type Queries struct {
	c       conn
	Dialect *Dialect
}

// Row reads at most one row into dest, or returns ErrNotFound.
func (q Queries) Row(ctx context.Context, text string, args []any, dest ...any) error {
	ctx, cancel := q.limited(q.Uncancelable(ctx))
	defer cancel()
	rows, err := q.c.query(ctx, text, args)
	if err != nil {
		return Classify(err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return q.failed(err)
		}
		return ErrNotFound
	}
	if err := rows.Scan(dest...); err != nil {
		return Classify(err)
	}
	return q.failed(rows.Close())
}

// failed classifies an error that came with the rows of a read, after the statement. A transaction has to know of it.
func (q Queries) failed(err error) error {
	if s, ok := q.c.(txStatements); ok {
		s.tx.noteError(err)
	}
	return Classify(err)
}

// Scanner reads the columns of a row.
type Scanner = func(dest ...any) error

// Rows calls each for every row; each scans it.
func (q Queries) Rows(ctx context.Context, text string, args []any, each func(Scanner) error) error {
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
	return q.failed(rows.Err())
}

// Uncancelable returns the context for a read of few rows. In SQLite such a read takes less time than the two
// goroutines that would watch ctx; in PostgreSQL watching ctx is what ends a wait for the network.
func (q Queries) Uncancelable(ctx context.Context) context.Context {
	if q.Dialect == &SQLite && ctx.Err() == nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// limited returns the context for a read outside of transactions, which have a limit of their own: a connection that
// broke silently must not hold its caller. Nothing limits a read of SQLite but the disk.
func (q Queries) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	switch q.c.(type) {
	case pool, replicaConn:
		return context.WithTimeout(ctx, readTimeout)
	}
	return ctx, func() {}
}

// Collect returns what read makes of each row. Where there is none, the list is empty, not nil.
func Collect[T any](
	ctx context.Context, q Queries, read func(Scanner) (T, error), text string, args ...any,
) ([]T, error) {
	found := []T{}
	err := q.Rows(ctx, text, args, func(scan Scanner) error {
		v, err := read(scan)
		found = append(found, v)
		return err
	})
	return found, err
}

// Column returns the only column of each row.
func Column[T any](ctx context.Context, q Queries, text string, args ...any) ([]T, error) {
	return Collect(ctx, q, func(scan Scanner) (v T, err error) {
		err = scan(&v)
		return v, err
	}, text, args...)
}

// Pairs returns the second of two columns by the first.
func Pairs[K comparable, V any](ctx context.Context, q Queries, text string, args ...any) (map[K]V, error) {
	found := make(map[K]V)
	err := q.Rows(ctx, text, args, func(scan Scanner) error {
		var k K
		var v V
		err := scan(&k, &v)
		found[k] = v
		return err
	})
	return found, err
}

// Value returns the only column of one row, or ErrNotFound.
func Value[T any](ctx context.Context, q Queries, text string, args ...any) (v T, err error) {
	err = q.Row(ctx, text, args, &v)
	return v, err
}

// Exists reports whether a SELECT without its columns finds a row.
func (q Queries) Exists(ctx context.Context, from string, args ...any) (bool, error) {
	n, err := Value[int](ctx, q, "SELECT COUNT(*) FROM (SELECT 1 "+from+" LIMIT 1) AS found", args...)
	return n > 0, err
}

// First returns the first of what was found, or ErrNotFound.
func First[T any](found []T, err error) (T, error) {
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return found[0], nil
}

// Arguments are the parameters of a statement whose text is put together.
type Arguments []any

// Add adds a parameter and returns its place in the text.
func (a *Arguments) Add(v any) string {
	*a = append(*a, v)
	return "$" + strconv.Itoa(len(*a))
}

// Equal returns a condition that follows others: the column has the value; empty: any.
func (a *Arguments) Equal(column, value string) string {
	if value == "" {
		return ""
	}
	return " AND " + column + " = " + a.Add(value)
}

// List returns "($first, $first+1, …)" with n parameters.
func List(first, n int) string { return rowsOf(first, 1, n) }

// Tuples returns rows "($1, …), ($k, …)" for an INSERT of many rows.
func Tuples(rows, columns int) string { return rowsOf(1, rows, columns) }

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
var batchSizes = [...]int{LongestBatch, 16, 8, 4, 2, 1}

// LongestBatch is how many items are in a batch at the most.
const LongestBatch = 32

// Batches cuts items into batches of these lengths.
func Batches[T any](items []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for _, size := range batchSizes {
			for len(items) >= size {
				if !yield(items[:size]) {
					return
				}
				items = items[size:]
			}
		}
	}
}

// InBatches calls f for all items in batches, as far as the first that fails.
func InBatches[T any](items []T, f func([]T) error) error {
	for batch := range Batches(items) {
		if err := f(batch); err != nil {
			return err
		}
	}
	return nil
}

// ByLength keeps the texts that f makes for lists, by their lengths.
func ByLength(f func(n int) string) func(n int) string {
	var kept sync.Map
	return func(n int) string {
		if text, ok := kept.Load(n); ok {
			return text.(string)
		}
		text := f(n)
		kept.Store(n, text)
		return text
	}
}

func Anys[T any](values []T) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	return args
}

// Literal returns a word of the program, such as a status, as it stands in a text where planners have to see it to
// choose a partial index. Everything else is a parameter. What is no such word becomes one that no row has.
func Literal[S ~string](word S) string {
	for _, c := range []byte(word) {
		if (c < 'a' || c > 'z') && c != '-' {
			return "''"
		}
	}
	return "'" + string(word) + "'"
}

// In adds words to the arguments and returns "($1,$2)" for them.
func In[S ~string](a *Arguments, words []S) string {
	marks := make([]string, len(words))
	for i, w := range words {
		marks[i] = a.Add(string(w))
	}
	return "(" + strings.Join(marks, ",") + ")"
}
