package sqltrace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/store/sqlite"
)

// cache is that of the program's writing connection.
const cache = "cache_size(-16000)"

// Loop runs a replay on one connection to a SQLite database, with prepared statements and nothing else.
type Loop struct {
	replay   *Replay
	db       *sql.DB
	conn     *sql.Conn
	prepared []*sql.Stmt
	reads    []bool
	turn     int64
}

// firstTurn is far from the numbers of the recording.
const firstTurn = 100_000

// NewLoop opens the database with the settings of the program's writing connection, but with the checkpoints that
// SQLite makes by itself.
func NewLoop(ctx context.Context, path string, r *Replay) (_ *Loop, err error) {
	l := &Loop{replay: r, turn: firstTurn}
	if l.db, err = sql.Open("sqlite", sqlite.DSN(path, cache)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.db.Close())
		}
	}()
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return nil, err
	}
	byText := map[string]*sql.Stmt{}
	for i := range r.Len() {
		text := r.Text(i)
		if byText[text] == nil {
			prepared, err := l.conn.PrepareContext(ctx, text) //nolint:sqlclosecheck // ends with its connection
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
			byText[text] = prepared
		}
		l.prepared = append(l.prepared, byText[text])
		l.reads = append(l.reads, firstWord(text) == "SELECT" || strings.Contains(strings.ToUpper(text), " RETURNING "))
	}
	return l, nil
}

// Run repeats the transaction for a time and returns how often it was committed.
func (l *Loop) Run(ctx context.Context, duration time.Duration) (turns int, err error) {
	for end := time.Now().Add(duration); time.Now().Before(end); turns++ {
		if err := l.once(ctx); err != nil {
			_, _ = l.conn.ExecContext(ctx, "ROLLBACK") // the first error is the one to report
			return turns, err
		}
	}
	return turns, ctx.Err()
}

func (l *Loop) once(ctx context.Context) error {
	l.turn++
	for i, statement := range l.prepared {
		if err := l.run(ctx, statement, l.replay.Args(i, l.turn), l.reads[i]); err != nil {
			return fmt.Errorf("%s: %w", l.replay.Text(i), err)
		}
	}
	return nil
}

func (l *Loop) run(ctx context.Context, s *sql.Stmt, args []any, reads bool) (err error) {
	if !reads {
		_, err := s.ExecContext(ctx, args...)
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the database.
func (l *Loop) Close() error { return errors.Join(l.conn.Close(), l.db.Close()) }
