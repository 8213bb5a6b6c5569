package db

import (
	lru "container/list"
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/assayhq/assay/internal/store/sqlite"
)

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
