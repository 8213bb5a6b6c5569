package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/order"
)

// record is a row of which the columns are taken by their places, while the read stands at it. The reads that run with
// every request use it: to scan into pointers costs as much as the read itself.
type record struct {
	row    *sqliteStatement // of a direct connection; nil: values
	values []any            // as the drivers give them
	err    error            // the first column that was not what was asked for
}

// text returns a text; NULL is the empty string.
func (r *record) text(i int) string {
	if r.row != nil {
		if kind := r.row.kind(i); kind != sqlite3.SQLITE_TEXT {
			r.wrong(i, kind != sqlite3.SQLITE_NULL, "a text")
			return ""
		}
		return string(r.row.bytes(i))
	}
	s, ok := r.values[i].(string)
	r.wrong(i, !ok && r.values[i] != nil, "a text")
	return s
}

// word is text for a column with few values, which are not made anew for every row.
func (r *record) word(i int) string {
	if r.row != nil {
		if known, ok := words[string(r.row.bytes(i))]; ok {
			return known
		}
	}
	return r.text(i)
}

// words are the states of orders.
var words = func() map[string]string {
	all := make(map[string]string)
	for _, w := range append(enum.Names(order.Statuses), enum.Names(order.Outcomes)...) {
		all[w] = w
	}
	return all
}()

// textOrNil returns a text; NULL is nil.
func (r *record) textOrNil(i int) *string {
	if r.null(i) {
		return nil
	}
	s := r.text(i)
	return &s
}

// integer returns a number; NULL is 0.
func (r *record) integer(i int) int64 {
	if r.row != nil {
		kind := r.row.kind(i)
		r.wrong(i, kind != sqlite3.SQLITE_INTEGER && kind != sqlite3.SQLITE_NULL, "a number")
		return r.row.integer(i)
	}
	switch n := r.values[i].(type) {
	case int64:
		return n
	case int32: // PostgreSQL's, of an expression
		return int64(n)
	case nil:
		return 0
	}
	r.wrong(i, true, "a number")
	return 0
}

func (r *record) null(i int) bool {
	if r.row != nil {
		return r.row.kind(i) == sqlite3.SQLITE_NULL
	}
	return r.values[i] == nil
}

// time returns a time; NULL is the zero time.
func (r *record) time(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return timeOf(r.integer(i))
}

// timeOrNil returns a time; NULL is nil.
func (r *record) timeOrNil(i int) *time.Time {
	if r.null(i) {
		return nil
	}
	t := timeOf(r.integer(i))
	return &t
}

// wrong notes that a column is not what was asked for.
func (r *record) wrong(i int, is bool, want string) {
	if is && r.err == nil {
		r.err = fmt.Errorf("column %d is not %s", i, want)
	}
}

// records calls each for every row of a read with so many columns. What each takes from the record is its own.
func (q Queries) records(
	ctx context.Context, text string, args []any, columns int, each func(*record) error,
) error {
	ctx, cancel := q.limited(ctx)
	defer cancel()
	r := &record{}
	if _, direct := q.c.(*readers); !direct {
		r.values = make([]any, columns)
	}
	return Classify(q.c.records(ctx, text, args, r, func() error {
		if err := each(r); err != nil {
			return err
		}
		return r.err
	}))
}

// record reads one row, or returns ErrNotFound.
func (q Queries) record(ctx context.Context, text string, args []any, columns int, take func(*record) error) error {
	found := false
	err := q.records(ctx, text, args, columns, func(r *record) error {
		found = true
		return take(r)
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return err
}

// scanRecords is how a connection of database/sql reads records.
func scanRecords(rows *sql.Rows, r *record, each func() error) error {
	defer rows.Close()
	dest := make([]any, len(r.values))
	for i := range dest {
		dest[i] = &r.values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}
