// Package plain runs statements with database/sql alone, where a database is not open as one of the program: while its
// tables are made, compared or copied.
package plain

import (
	"context"
	"database/sql"

	"github.com/assayhq/assay/internal/store/db"
)

// Querier is a database or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// Rows calls each for every row; each scans it.
func Rows(ctx context.Context, q Querier, text string, args []any, each func(db.Scanner) error) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return db.Classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return db.Classify(rows.Err())
}

// Column returns the only column of a result.
func Column[T any](ctx context.Context, q Querier, text string, args ...any) (values []T, err error) {
	err = Rows(ctx, q, text, args, func(scan db.Scanner) error {
		var v T
		err := scan(&v)
		values = append(values, v)
		return err
	})
	return values, err
}

// Any reports whether there is a row of one text.
func Any(ctx context.Context, q Querier, text string, args ...any) (bool, error) {
	found, err := Column[string](ctx, q, text, args...)
	return len(found) > 0, err
}

// Value returns the only value of a result.
func Value[T any](ctx context.Context, q Querier, text string, args ...any) (T, error) {
	return db.First(Column[T](ctx, q, text, args...))
}

// Exec runs statements one after the other.
func Exec(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, text := range statements {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return db.Classify(err)
		}
	}
	return nil
}
