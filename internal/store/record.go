package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// record is a row of which the columns are taken by their places, as the drivers give them. The reads that run with
// every request use it: to scan into pointers costs as much as the read itself.
type record struct {
	values []any
	err    error // the first column that was not what was asked for
}

// text returns a text; NULL is the empty string.
func (r *record) text(i int) string {
	s, ok := r.values[i].(string)
	if !ok && r.values[i] != nil {
		r.wrong(i, "a text")
	}
	return s
}

// textOrNil returns a text; NULL is nil.
func (r *record) textOrNil(i int) *string {
	if r.values[i] == nil {
		return nil
	}
	s := r.text(i)
	return &s
}

// integer returns a number; NULL is 0.
func (r *record) integer(i int) int64 {
	switch n := r.values[i].(type) {
	case int64:
		return n
	case int32: // PostgreSQL's, of an expression
		return int64(n)
	case nil:
		return 0
	}
	r.wrong(i, "a number")
	return 0
}

// time returns a time; NULL is the zero time.
func (r *record) time(i int) time.Time {
	if r.values[i] == nil {
		return time.Time{}
	}
	return timeOf(r.integer(i))
}

// timeOrNil returns a time; NULL is nil.
func (r *record) timeOrNil(i int) *time.Time {
	if r.values[i] == nil {
		return nil
	}
	t := timeOf(r.integer(i))
	return &t
}

func (r *record) wrong(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("column %d is %T, want %s", i, r.values[i], want)
	}
}

// records calls each for every row of a read with so many columns. What each takes from the record is its own.
func (q Queries) records(
	ctx context.Context, text string, args []any, columns int, each func(*record) error,
) error {
	ctx, cancel := q.limited(q.uncancelable(ctx))
	defer cancel()
	r := &record{values: make([]any, columns)}
	return Classify(q.c.records(ctx, text, args, r, func() error {
		if err := each(r); err != nil {
			return err
		}
		return r.err
	}))
}

// record reads one row, or returns ErrNotFound.
func (q Queries) record(ctx context.Context, text string, args []any, columns int) (r *record, err error) {
	err = q.records(ctx, text, args, columns, func(found *record) error {
		r = found
		return nil
	})
	if err == nil && r == nil {
		err = ErrNotFound
	}
	return r, err
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
