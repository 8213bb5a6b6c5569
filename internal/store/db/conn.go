package db

import (
	"cmp"
	"context"
	"database/sql"
)

// conn runs statements: the readers, the SQLite writer, or a PostgreSQL transaction.
type conn interface {
	query(ctx context.Context, q string, args []any) (*sql.Rows, error)
	exec(ctx context.Context, q string, args []any) (sql.Result, error)

	// records reads rows into the record and calls each after every one.
	records(ctx context.Context, q string, args []any, r *Record, each func() error) error

	// batch runs statements one after the other, as far as the first that fails. PostgreSQL gets them all at once, and
	// with commit the end of the transaction, too, where nobody looks at their results. Nothing may follow a commit.
	batch(ctx context.Context, commands []Command, commit bool) error
}

// Command is a statement of a batch.
type Command struct {
	Text string
	Args []any
	Each func(*Record) error // called for every row of the result; nil: there is none

	// Changed is called with the number of rows that were changed, where there is no Each. An error of its own keeps the
	// transaction from its end, but not the statements behind it from running.
	Changed func(n int64) error
}

// oneByOne is a batch on a connection to which statements go one by one.
func oneByOne(ctx context.Context, c conn, commands []Command) error {
	for _, cmd := range commands {
		if cmd.Each != nil {
			if err := (Queries{c: c}).Records(ctx, cmd.Text, cmd.Args, cmd.Each); err != nil {
				return err
			}
			continue
		}
		result, err := c.exec(ctx, cmd.Text, cmd.Args)
		if err != nil {
			return err
		}
		if cmd.Changed != nil {
			n, err := result.RowsAffected()
			if err := cmp.Or(err, cmd.Changed(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// txConn is a transaction of database/sql.
type txConn struct{ tx *sql.Tx }

func (c txConn) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	return c.tx.QueryContext(ctx, q, args...)
}

func (c txConn) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	return c.tx.ExecContext(ctx, q, args...)
}

func (c txConn) records(ctx context.Context, q string, args []any, r *Record, each func() error) error {
	rows, err := c.query(ctx, q, args)
	if err != nil {
		return err
	}
	return scanRecords(rows, r, each)
}

func (c txConn) batch(ctx context.Context, commands []Command, _ bool) error {
	return oneByOne(ctx, c, commands)
}
