package rawsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Run runs a statement, for programs that are not tests.
func Run(ctx context.Context, target, statement string) error {
	return with(target, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		return nil
	})
}

// Multiply inserts copies of the rows of a table that match a condition over the row o, which is faster than the
// program. The columns in changed are expressions over the row and the number of the copy, n from 1; all others are
// copied.
func Multiply(ctx context.Context, target, table, condition string, copies int, changed map[string]string) error {
	return with(target, func(db *sql.DB) error {
		if !strings.HasPrefix(target, "postgres://") { // fit indexes into memory, do not wait for the disk
			db.SetMaxOpenConns(1)
			if _, err := db.ExecContext(ctx, "PRAGMA synchronous = OFF; PRAGMA cache_size = -262144"); err != nil {
				return err
			}
		}
		return multiply(ctx, db, table, table, condition, copies, changed)
	})
}

// runner is a database or one of its connections.
type runner interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func multiply(
	ctx context.Context, db runner, table, from, condition string, copies int, changed map[string]string,
) error {
	columns, err := columnsOf(ctx, db, from)
	if err != nil {
		return err
	}
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = "o." + column
		if expression, ok := changed[column]; ok {
			values[i] = expression
		}
	}
	if expression, ok := changed["rowid"]; ok {
		columns, values = append(columns, "rowid"), append(values, expression)
	}
	// Copy by copy, so that increasing values are inserted in order.
	_, err = db.ExecContext(ctx,
		fmt.Sprintf(`WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < %d)
		INSERT INTO %s (%s) SELECT %s FROM copies CROSS JOIN %s AS o WHERE %s`, copies, table, strings.Join(columns, ", "),
			strings.Join(values, ", "), from, condition))
	return err
}

func columnsOf(ctx context.Context, db runner, table string) (columns []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	return rows.Columns()
}

func with(target string, f func(*sql.DB) error) (err error) {
	db, err := connect(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(db)
}
