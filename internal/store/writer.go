package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// writer is SQLite's only writing connection. It commits in groups: it takes all jobs that wait, runs each in its own
// SAVEPOINT, commits once, and only then replies to all of them. So one fsync serves many requests, and none is
// answered before its data is on disk.
type writer struct {
	*statements
	db   *sql.DB
	conn *sql.Conn

	jobs    chan *job
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
}

// maxGroup is how many jobs become one transaction in SQLite.
const maxGroup = 256

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
		statements: newStatements(c.PrepareContext, maxStatements), db: db, conn: c,
		jobs: make(chan *job, maxGroup), closing: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// run runs f in the next group and waits until it is on disk or has failed.
func (w *writer) run(f txFunc) error {
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
	return errors.Join(w.statements.close(), w.conn.Close(), w.db.Close())
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
			for { // jobs that were accepted are finished
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
		if err = runGroup(ctx, w, group); err == nil {
			err = control(ctx, w, "COMMIT")
		}
		if err != nil {
			_ = control(ctx, w, "ROLLBACK") // fails when SQLite has rolled back by itself
		}
	}
	reply(group, err)
}

// txFunc runs in a transaction: on its connection, with its context.
type txFunc func(ctx context.Context, c conn) error

// job is a use case that waits to become part of a transaction.
type job struct {
	run    txFunc
	result chan error
	err    error
}

func newJob(f txFunc) *job { return &job{run: f, result: make(chan error, 1)} }

// runGroup runs a group of jobs in one transaction, each in its own SAVEPOINT: one that fails is rolled back alone. It
// returns an error only when the transaction itself has failed, and with it all of them.
func runGroup(ctx context.Context, c conn, group []*job) error {
	for _, j := range group {
		if err := inSavepoint(ctx, c, j); err != nil {
			return err
		}
	}
	return nil
}

func inSavepoint(ctx context.Context, c conn, j *job) error {
	if err := control(ctx, c, "SAVEPOINT use_case"); err != nil {
		return err
	}
	if j.err = j.run(ctx, c); retryable(j.err) {
		return j.err
	}
	if j.err != nil {
		if err := control(ctx, c, "ROLLBACK TO use_case"); err != nil {
			return fmt.Errorf("roll back to savepoint: %w (after %w)", err, j.err)
		}
	}
	return control(ctx, c, "RELEASE use_case")
}

// control runs a statement that begins or ends a transaction or savepoint.
func control(ctx context.Context, c conn, text string) error {
	_, err := c.exec(ctx, text, nil)
	return err
}

// reply sends all jobs of a group their result; err is that of the transaction.
func reply(group []*job, err error) {
	for _, j := range group {
		if err != nil {
			j.err = err
		}
		j.result <- j.err
	}
}

// groups commits jobs that change the same row together. In PostgreSQL their transactions would wait for each other's
// commit, with a connection each, and one busy account would take the whole pool from everybody. So they become one
// transaction: while a group runs, the next one collects.
type groups struct {
	mu      sync.Mutex
	waiting map[string][]*job // by the name of the row, which has an entry while a group of it runs
}

// run adds f to the next group of its row, which commit runs, and waits until it is committed or has failed. ctx ends
// the wait for the group, not a transaction that has begun.
func (g *groups) run(ctx context.Context, row string, f txFunc, commit func([]*job)) error {
	j := newJob(f)
	if g.join(row, j) {
		go func() {
			for group := g.next(row); group != nil; group = g.next(row) {
				commit(group)
			}
		}()
	}
	select {
	case err := <-j.result:
		return err
	case <-ctx.Done():
		if g.withdraw(row, j) {
			return ctx.Err()
		}
		return <-j.result
	}
}

// join reports whether no group of the row was running.
func (g *groups) join(row string, j *job) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = make(map[string][]*job)
	}
	waiting, running := g.waiting[row]
	g.waiting[row] = append(waiting, j)
	return !running
}

// maxJoined is how many jobs become one transaction in PostgreSQL, which keeps up to 64 savepoints in memory.
const maxJoined = 32

// next returns the jobs that have waited the longest, or nil when there is none: then no group of the row is running.
func (g *groups) next(row string) []*job {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.waiting[row]
	if len(waiting) == 0 {
		delete(g.waiting, row)
		return nil
	}
	n := min(len(waiting), maxJoined)
	g.waiting[row] = slices.Clone(waiting[n:])
	return waiting[:n]
}

// withdraw reports whether the job was still waiting.
func (g *groups) withdraw(row string, j *job) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting[row], j)
	if i >= 0 {
		g.waiting[row] = slices.Delete(g.waiting[row], i, i+1)
	}
	return i >= 0
}
