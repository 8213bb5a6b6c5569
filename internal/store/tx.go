package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/assayhq/assay/internal/domain/audit"
)

// Tx is one transaction: the reads and the writes. Its reads ignore the context they are given and use that of the
// transaction, which a request cannot cancel. So a caller passes the context it has, or Context.
type Tx struct {
	Queries
	ctx   context.Context //nolint:containedctx // a transaction is one unit of work
	wrote bool            // a statement may have changed something, or has failed
	last  bool            // nothing but createOrders runs in it
	chain audit.Chain     // of the logs
}

func newTx(ctx context.Context, c conn, d *dialect) *Tx {
	t := &Tx{ctx: ctx}
	t.Queries = Queries{c: txStatements{c, t}, d: d}
	return t
}

// Context is the context of the transaction, for functions that have no other.
func (t *Tx) Context() context.Context { return t.ctx }

// protect runs f. A panic becomes an error.
func (t *Tx) protect(f func(*Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.wrote = true
			err = fmt.Errorf("panic in transaction: %v", p)
		}
	}()
	return f(t)
}

// txStatements runs the statements of a transaction with its context, whatever the caller passes: a request that is
// canceled in the middle of its use case must not interrupt the connection that others share. It notes writes.
type txStatements struct {
	conn
	tx *Tx
}

func (s txStatements) query(_ context.Context, q string, args []any) (*sql.Rows, error) {
	rows, err := s.conn.query(s.tx.ctx, q, args)
	s.tx.note(q, err)
	return rows, err
}

func (s txStatements) exec(_ context.Context, q string, args []any) (sql.Result, error) {
	result, err := s.conn.exec(s.tx.ctx, q, args)
	s.tx.note(q, err)
	return result, err
}

func (s txStatements) records(_ context.Context, q string, args []any, r *record, each func() error) error {
	err := s.conn.records(s.tx.ctx, q, args, r, each)
	s.tx.note(q, err)
	return err
}

func (s txStatements) batch(_ context.Context, commands []command, commit bool) error {
	s.tx.wrote = true
	return s.conn.batch(s.tx.ctx, commands, commit)
}

func (t *Tx) note(text string, err error) {
	t.wrote = t.wrote || err != nil || !strings.HasPrefix(text, "SELECT ")
}

// control runs a statement that begins or ends a transaction or savepoint.
func (t *Tx) control(text string) error {
	_, err := t.c.exec(t.ctx, text, nil)
	return err
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

// batch runs statements one after the other; see conn.
func (t *Tx) batch(commands []command, commit bool) error {
	return Classify(t.c.batch(t.ctx, commands, commit))
}

// one runs a statement that has to touch exactly one row, else it returns ErrNotFound.
func (t *Tx) one(text string, args ...any) error {
	n, err := t.exec(text, args...)
	if err == nil && n != 1 {
		return ErrNotFound
	}
	return err
}

// insert adds a row; into is the table with the columns that args are for.
func (t *Tx) insert(into string, args ...any) error {
	_, err := t.exec("INSERT INTO "+into+" VALUES "+tuples(1, len(args)), args...)
	return err
}
