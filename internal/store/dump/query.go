package dump

import (
	"context"
	"database/sql"

	"github.com/assayhq/assay/internal/store/db"
)

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// queryRow reads one value.
func queryRow(ctx context.Context, q querier, text string, dest any, args ...any) error {
	return db.Classify(q.QueryRowContext(ctx, text, args...).Scan(dest))
}

// queryRows calls each for every row; each scans it.
func queryRows(ctx context.Context, q querier, text string, each func(scan func(...any) error) error) error {
	rows, err := q.QueryContext(ctx, text)
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

// exec runs statements one after the other.
func exec(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, text := range statements {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return db.Classify(err)
		}
	}
	return nil
}
