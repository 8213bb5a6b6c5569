package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// conn runs statements: the readers, the SQLite writer, or a PostgreSQL transaction.
type conn interface {
	query(ctx context.Context, q string, args []any) (*sql.Rows, error)
	exec(ctx context.Context, q string, args []any) (sql.Result, error)
}

// Queries are the reads, outside and inside transactions.
type Queries struct {
	c conn
	d *dialect
}

// Tx is one transaction: the reads and the writes. Its reads ignore the context they are given and use that of the
// transaction, which a request cannot cancel. So a caller passes the context it has, or Context.
type Tx struct {
	Queries
	ctx context.Context //nolint:containedctx // a transaction is one unit of work
}

// Context is the context of the transaction, for functions that have no other.
func (t *Tx) Context() context.Context { return t.ctx }

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

// exec runs a statement and returns how many rows it touched.
func (t *Tx) exec(text string, args ...any) (int64, error) {
	res, err := t.c.exec(t.ctx, text, args)
	if err != nil {
		return 0, Classify(err)
	}
	n, err := res.RowsAffected()
	return n, Classify(err)
}

// one runs a statement that has to touch exactly one row, else it returns ErrNotFound.
func (t *Tx) one(text string, args ...any) error {
	n, err := t.exec(text, args...)
	if err == nil && n != 1 {
		return ErrNotFound
	}
	return err
}

// Classify marks the errors that callers act on: a violated UNIQUE constraint, or a database that cannot be reached.
func Classify(err error) error {
	switch {
	case err == nil:
		return nil
	case uniqueViolation(err):
		return errors.Join(ErrExists, err)
	case fault.CodeOf(err) == "" && unreachable(err):
		return fault.UnavailableError(err)
	}
	return err
}

func brokenConnection(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}

// pool is the connections of PostgreSQL, whose driver keeps prepared statements itself.
type pool struct{ db *sql.DB }

func (p pool) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	return p.db.QueryContext(ctx, q, args...)
}

func (p pool) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	return p.db.ExecContext(ctx, q, args...)
}

// txConn is a transaction of database/sql.
type txConn struct{ tx *sql.Tx }

func (c txConn) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	return c.tx.QueryContext(ctx, q, args...)
}

func (c txConn) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	return c.tx.ExecContext(ctx, q, args...)
}

// txContext reads with the context of the transaction, whatever the caller passes: a request that is canceled in the
// middle of its use case must not interrupt the connection that others share.
type txContext struct {
	conn
	ctx context.Context //nolint:containedctx // see Tx
}

func (t txContext) query(_ context.Context, q string, args []any) (*sql.Rows, error) {
	return t.conn.query(t.ctx, q, args)
}

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
