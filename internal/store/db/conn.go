package db

import (
	"cmp"
	lru "container/list"
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/assayhq/assay/internal/store/sqlite"
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

// maxStatements is how many prepared statements a connection, or a pool of them, keeps.
const maxStatements = 1000

// statements runs statements on SQLite and keeps the last used ones prepared, because parsing a statement costs more
// than running it. SQLite parses a statement again after each bind when its planner has looked at a parameter: in LIMIT
// $n, and in the comparison of a column that a partial index names. Statements that run with every request hide such
// parameters in a CAST.
type statements struct {
	prepare func(ctx context.Context, text string) (*sql.Stmt, error)
	max     int

	mu     sync.Mutex
	byText map[string]*lru.Element // of *statement
	used   *lru.List               // the last used first
}

type statement struct {
	*sql.Stmt
	text    string
	users   int
	dropped bool // closed by its last user
}

func newStatements(prepare func(context.Context, string) (*sql.Stmt, error), limit int) *statements {
	return &statements{prepare: prepare, max: limit, byText: make(map[string]*lru.Element), used: lru.New()}
}

func (s *statements) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	stmt, err := s.acquire(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	return rows, errors.Join(err, s.release(stmt))
}

func (s *statements) exec(ctx context.Context, text string, args []any) (sql.Result, error) {
	stmt, err := s.acquire(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	return result, errors.Join(err, s.release(stmt))
}

func (s *statements) records(ctx context.Context, q string, args []any, r *Record, each func() error) error {
	rows, err := s.query(ctx, q, args)
	if err != nil {
		return err
	}
	return scanRecords(rows, r, each)
}

func (s *statements) batch(ctx context.Context, commands []Command, _ bool) error {
	return oneByOne(ctx, s, commands)
}

// acquire returns the prepared statement; the caller releases it.
func (s *statements) acquire(ctx context.Context, text string) (*statement, error) {
	s.mu.Lock()
	stmt := s.find(text)
	s.mu.Unlock()
	if stmt != nil {
		return stmt, nil
	}
	prepared, err := s.prepare(ctx, sqlite.Unnamed(text))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.find(text); stmt != nil { // another reader has prepared the same statement meanwhile
		return stmt, prepared.Close() //nolint:sqlclosecheck // the other one is used
	}
	stmt = &statement{Stmt: prepared, text: text, users: 1}
	s.byText[text] = s.used.PushFront(stmt)
	return stmt, s.dropOldest()
}

func (s *statements) find(text string) *statement {
	e, ok := s.byText[text]
	if !ok {
		return nil
	}
	s.used.MoveToFront(e)
	stmt := e.Value.(*statement)
	stmt.users++
	return stmt
}

// dropOldest closes the statement that was not used for the longest time where there are too many.
func (s *statements) dropOldest() error {
	if s.used.Len() <= s.max {
		return nil
	}
	oldest := s.used.Remove(s.used.Back()).(*statement)
	delete(s.byText, oldest.text)
	oldest.dropped = true
	return oldest.closeUnused()
}

func (s *statements) release(stmt *statement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stmt.users--
	return stmt.closeUnused()
}

// closeUnused closes a statement that was dropped and has no users.
func (s *statement) closeUnused() error {
	if s.dropped && s.users == 0 {
		return s.Close()
	}
	return nil
}

// close closes all statements. Nobody uses them anymore.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, e := range s.byText {
		err = errors.Join(err, e.Value.(*statement).Close())
	}
	return err
}
