package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// conn runs statements: the pool of readers, the SQLite writer, or a PostgreSQL transaction.
type conn interface {
	query(ctx context.Context, q string, args []any) (*sql.Rows, error)
	exec(ctx context.Context, q string, args []any) (sql.Result, error)
}

// Queries are the reads, on whatever runs them.
type Queries struct {
	c conn
	d *dialect
}

// Tx is one transaction: the reads and the writes.
type Tx struct {
	Queries
	ctx context.Context //nolint:containedctx // a transaction is one unit of work; its context cannot be cancelled
}

// row reads at most one row into dest, or returns ErrNotFound.
func (q Queries) row(ctx context.Context, text string, args []any, dest ...any) error {
	rows, err := q.c.query(q.brief(ctx), text, args)
	if err != nil {
		return wrap(err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return wrap(err)
		}
		return ErrNotFound
	}
	if err := rows.Scan(dest...); err != nil {
		return wrap(err)
	}
	return wrap(rows.Close())
}

// rows calls each for every row; each scans it.
func (q Queries) rows(ctx context.Context, text string, args []any, each func(scan func(...any) error) error) error {
	rows, err := q.c.query(ctx, text, args)
	if err != nil {
		return wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return wrap(err)
		}
	}
	return wrap(rows.Err())
}

// brief is the context of a read of few rows. In SQLite such a read takes less time than the two goroutines that would
// watch for the end of ctx; in PostgreSQL the watch is what ends a wait for the network.
func (q Queries) brief(ctx context.Context) context.Context {
	if q.d == &sqliteDialect && ctx.Err() == nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// exec runs a statement and returns how many rows it touched.
func (t *Tx) exec(text string, args ...any) (int64, error) {
	res, err := t.c.exec(t.ctx, text, args)
	if err != nil {
		return 0, wrap(err)
	}
	n, err := res.RowsAffected()
	return n, wrap(err)
}

// one runs a statement that has to touch exactly one row, else it returns ErrNotFound.
func (t *Tx) one(text string, args ...any) error {
	n, err := t.exec(text, args...)
	if err == nil && n != 1 {
		return ErrNotFound
	}
	return err
}

// wrap gives errors the meaning that callers act on: a rule of uniqueness, or a database that is out of reach.
func wrap(err error) error {
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

// pool is the shared readers. pgx caches prepared statements itself; for SQLite they are kept here, because parsing
// a statement costs more than running it. SQLite parses a statement again after each bind when its planner has looked at a
// parameter: in LIMIT $n, and in the comparison of a column that a partial index names. Statements that run with
// every request hide such parameters in a CAST.
type pool struct {
	db      *sql.DB
	prepare bool
	stmts   sync.Map // text → *sql.Stmt
}

func (p *pool) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	if !p.prepare {
		return p.db.QueryContext(ctx, q, args...)
	}
	stmt, err := p.statement(ctx, q) //nolint:sqlclosecheck // kept for the life of the pool
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (p *pool) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	return p.db.ExecContext(ctx, q, args...)
}

func (p *pool) statement(ctx context.Context, q string) (*sql.Stmt, error) {
	if s, ok := p.stmts.Load(q); ok {
		return s.(*sql.Stmt), nil
	}
	stmt, err := p.db.PrepareContext(ctx, q)
	if err != nil {
		return nil, err
	}
	if s, loaded := p.stmts.LoadOrStore(q, stmt); loaded {
		return s.(*sql.Stmt), stmt.Close() //nolint:sqlclosecheck // another reader has prepared the same statement meanwhile
	}
	return stmt, nil
}

func (p *pool) closeStatements() error {
	var err error
	p.stmts.Range(func(_, s any) bool {
		err = errors.Join(err, s.(*sql.Stmt).Close())
		return true
	})
	return err
}

// txConn is a PostgreSQL transaction.
type txConn struct{ tx *sql.Tx }

func (c txConn) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	return c.tx.QueryContext(ctx, q, args...)
}

func (c txConn) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	return c.tx.ExecContext(ctx, q, args...)
}

// steady reads with the context of the transaction, whatever the caller passes: a request that goes away in the middle of
// its use case must not interrupt the connection that others share.
type steady struct {
	conn
	ctx context.Context //nolint:containedctx // see Tx
}

func (s steady) query(_ context.Context, q string, args []any) (*sql.Rows, error) {
	return s.conn.query(s.ctx, q, args)
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
