package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Tx is one transaction: the reads and the writes. Its reads ignore the context they are given and use that of the
// transaction, which a request cannot cancel. So a caller passes Context, or the one it has.
type Tx struct {
	Queries
	ctx   context.Context // a transaction is one unit of work
	wrote bool            // a statement may have changed something, or has failed
	ended error           // SQLite may have rolled back by itself: a further statement would be a transaction of its own
	open  func() bool     // SQLite's own word on that; nil: there is none
	trace func(string)    // called for each statement, by tests
}

func newTx(ctx context.Context, c conn, d *Dialect) *Tx {
	t := &Tx{ctx: ctx}
	t.Queries = Queries{c: txStatements{c, t}, Dialect: d}
	return t
}

// Context is the context of the transaction, for functions that have no other.
func (t *Tx) Context() context.Context { return t.ctx }

// recovered is deferred by what runs the work of others: a panic becomes an error.
func (t *Tx) recovered(err *error) {
	if p := recover(); p != nil {
		t.wrote = true
		*err = fmt.Errorf("panic in transaction: %v", p)
	}
}

// txStatements runs the statements of a transaction with its context, whatever the caller passes: a request that is
// canceled in the middle of its use case must not interrupt the connection that others share. It notes writes.
type txStatements struct {
	conn
	tx *Tx
}

func (s txStatements) query(_ context.Context, q string, args []any) (*sql.Rows, error) {
	if err := s.tx.rolledBack(); err != nil {
		return nil, err
	}
	rows, err := s.conn.query(s.tx.ctx, q, args)
	s.tx.note(q, err)
	return rows, err
}

func (s txStatements) exec(_ context.Context, q string, args []any) (sql.Result, error) {
	if err := s.tx.rolledBack(); err != nil {
		return nil, err
	}
	result, err := s.conn.exec(s.tx.ctx, q, args)
	s.tx.note(q, err)
	return result, err
}

func (s txStatements) records(_ context.Context, q string, args []any, r *Record, each func() error) error {
	if err := s.tx.rolledBack(); err != nil {
		return err
	}
	err := s.conn.records(s.tx.ctx, q, args, r, each)
	s.tx.note(q, err)
	return err
}

func (s txStatements) batch(_ context.Context, commands []Command, commit bool) error {
	if err := s.tx.rolledBack(); err != nil {
		return err
	}
	for i := range commands {
		s.tx.note(commands[i].Text, nil)
	}
	s.tx.wrote = true
	err := s.conn.batch(s.tx.ctx, commands, commit)
	s.tx.noteError(err)
	return err
}

func (t *Tx) note(text string, err error) {
	if t.trace != nil {
		t.trace(text)
	}
	t.wrote = t.wrote || !strings.HasPrefix(text, "SELECT ")
	t.noteError(err)
}

func (t *Tx) noteError(err error) {
	t.wrote = t.wrote || err != nil
	if rollsBack(err) {
		t.ended = err
	}
}

// rolledBack returns why nothing more may run in the transaction, if SQLite has rolled back by itself.
func (t *Tx) rolledBack() error {
	if t.ended == nil && t.open != nil && !t.open() {
		t.ended = errRolledBack
	}
	return t.ended
}

// Trace has f called with each statement from now on.
func (t *Tx) Trace(f func(text string)) { t.trace = f }

// control runs a statement that begins or ends a transaction or savepoint.
func (t *Tx) control(text string) error {
	_, err := t.c.exec(t.ctx, text, nil)
	return err
}

// rollBack undoes the transaction. It fails when SQLite has done so by itself.
func (t *Tx) rollBack() error {
	t.ended, t.open = nil, nil
	return t.control("ROLLBACK")
}

// Exec runs a statement and returns how many rows it touched.
func (t *Tx) Exec(text string, args ...any) (int64, error) {
	res, err := t.c.exec(t.ctx, text, args)
	if err != nil {
		return 0, Classify(err)
	}
	n, err := res.RowsAffected()
	return n, Classify(err)
}

// Batch runs statements one after the other; see conn.
func (t *Tx) Batch(commands []Command, commit bool) error {
	if len(commands) == 0 && !commit {
		return nil
	}
	return Classify(t.c.batch(t.ctx, commands, commit))
}

// One runs a statement that has to touch exactly one row, else it returns ErrNotFound.
func (t *Tx) One(text string, args ...any) error {
	n, err := t.Exec(text, args...)
	if err == nil && n != 1 {
		return ErrNotFound
	}
	return err
}

// Insert adds a row; into is the table with the columns that args are for.
func (t *Tx) Insert(into string, args ...any) error {
	_, err := t.Exec("INSERT INTO "+into+" VALUES "+Tuples(1, len(args)), args...)
	return err
}
