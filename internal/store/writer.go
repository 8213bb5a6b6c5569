package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// writer is SQLite's only writing connection. It commits in groups: it takes all use cases that wait, runs each in a
// SAVEPOINT of its own, commits once, and only then answers all of them. One fsync thus serves many requests, and
// none is answered before its data is on disk.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt

	jobs    chan *job
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
}

const (
	maxGroup      = 256
	maxStatements = 1000
)

var errClosed = errors.New("the database is closed")

func newWriter(ctx context.Context, path string) (*writer, error) {
	db, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &writer{
		db: db, conn: c, stmts: make(map[string]*sql.Stmt),
		jobs: make(chan *job, maxGroup), closing: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// run hands the use case to the writer and waits until it is on disk, or refused.
func (w *writer) run(f func(conn) error) error {
	j := newJob(f)
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	select {
	case w.jobs <- j:
	case <-w.closing:
		return errClosed
	}
	select {
	case err := <-j.result:
		return err
	case <-w.done: // the loop ended; it may have taken the job just before
		select {
		case err := <-j.result:
			return err
		default:
			return errClosed
		}
	}
}

func (w *writer) close() error {
	w.once.Do(func() { close(w.closing) })
	<-w.done
	var err error
	for _, s := range w.stmts {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, w.conn.Close(), w.db.Close())
}

func (w *writer) loop() {
	defer close(w.done)
	group := make([]*job, 0, maxGroup)
	for {
		select {
		case j := <-w.jobs:
			group = w.gather(append(group[:0], j))
			w.commit(group)
		case <-w.closing:
			for { // what has been handed over is finished
				select {
				case j := <-w.jobs:
					w.commit(append(group[:0], j))
				default:
					return
				}
			}
		}
	}
}

func (w *writer) gather(group []*job) []*job {
	for len(group) < maxGroup {
		select {
		case j := <-w.jobs:
			group = append(group, j)
		default:
			return group
		}
	}
	return group
}

// commit runs the group in one transaction.
func (w *writer) commit(group []*job) {
	ctx := context.Background()
	err := control(ctx, w, "BEGIN IMMEDIATE")
	if err == nil {
		if err = together(ctx, w, group); err == nil {
			err = control(ctx, w, "COMMIT")
		}
		if err != nil {
			_ = control(ctx, w, "ROLLBACK") // fails when SQLite has rolled back by itself
		}
	}
	answer(group, err)
}

func (w *writer) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	stmt, err := w.statement(ctx, q) //nolint:sqlclosecheck // kept for the life of the writer
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (w *writer) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	stmt, err := w.statement(ctx, q) //nolint:sqlclosecheck // kept for the life of the writer
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (w *writer) statement(ctx context.Context, q string) (*sql.Stmt, error) {
	if s, ok := w.stmts[q]; ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(w.stmts) < maxStatements {
		w.stmts[q] = s
	}
	return s, nil
}
