package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/store/sqlite"
)

// writer is SQLite's only writing connection. It commits in groups: it takes all jobs that wait, runs them, commits
// once, and only then replies to all of them. So one fsync serves many requests, and none is answered before its data
// is on disk.
type writer struct {
	*statements
	db     *sql.DB
	conn   *sql.Conn
	direct *sqlite.Conn // conn without database/sql
	files  *sqlite.Files
	log    *sqlite.Checkpointer

	jobs    chan *job
	limit   time.Duration // of a job of a request, from its arrival to its commit
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
}

// maxGroup is how many jobs become one transaction in SQLite.
const maxGroup = 256

// filesAge is how old the last look at the files may be for a transaction to rely on it.
const filesAge = time.Second

// writeLimit is how long a request waits for its write. A disk that holds it up does not hold up whoever asked.
const writeLimit = 15 * time.Second

var (
	errClosed = errors.New("the database is closed")
	errHeldUp = errors.New("the disk does not take the write in time")
)

func newWriter(ctx context.Context, path string) (*writer, error) {
	pragmas := sqlite.Pragmas(hotCache, sqlite.NoAutoCheckpoint, sqlite.LogLimit)
	db := sql.OpenDB(sqlite.Connector{URI: sqlite.URI(path), Pragmas: pragmas})
	db.SetMaxOpenConns(1)
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	direct, err := sqlite.Unwrap(c)
	if err != nil {
		return nil, errors.Join(err, c.Close(), db.Close())
	}
	files, err := sqlite.NewFiles(path)
	if err != nil {
		return nil, errors.Join(err, c.Close(), db.Close())
	}
	log, err := sqlite.NewCheckpointer(path)
	if err != nil {
		return nil, errors.Join(err, c.Close(), db.Close())
	}
	return &writer{
		statements: newStatements(c.PrepareContext, maxStatements), db: db, conn: c, direct: direct, files: files, log: log,
		jobs: make(chan *job, maxGroup), limit: writeLimit, closing: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// records reads without database/sql.
func (w *writer) records(_ context.Context, q string, args []any, r *Record, each func() error) error {
	return readRecords(w.direct, q, args, r, each)
}

// batch runs statements without database/sql.
func (w *writer) batch(_ context.Context, commands []Command, _ bool) error {
	var r Record
	ignore := func() error { return nil }
	for i := range commands {
		cmd, each := &commands[i], ignore
		if cmd.Each != nil {
			each = func() error { return cmp.Or(cmd.Each(&r), r.err) }
		}
		if err := readRecords(w.direct, cmd.Text, cmd.Args, &r, each); err != nil {
			return err
		}
		if cmd.Changed != nil {
			if err := cmd.Changed(w.direct.Changes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// run runs a job in the next group and waits until it is on disk or has failed, or until the deadline of ctx, or for
// the limit where the job is in a hurry: one that has not begun by then is never done, of one that has begun nobody
// knows. Its work does not run anymore when run returns; what the disk holds up is usually the commit after it.
func (w *writer) run(ctx context.Context, j *job, hurry bool) error {
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	deadline, limited := ctx.Deadline()
	if end := time.Now().Add(w.limit); hurry && (!limited || end.Before(deadline)) {
		deadline, limited = end, true
	}
	var late <-chan time.Time
	if limited {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case w.jobs <- j:
	case <-late:
		return errHeldUp
	case <-w.closing:
		return errClosed
	}
	select {
	case err := <-j.result:
		return err
	case <-late:
		j.giveUp()
		select {
		case err := <-j.result:
			return err
		default:
			return errHeldUp
		}
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
	return errors.Join(w.log.Wait(), w.statements.close(), w.conn.Close(), w.db.Close())
}

func (w *writer) loop() {
	w.log.Start(w.done)
	defer close(w.done)
	group := make([]*job, 0, maxGroup)
	for {
		select {
		case j := <-w.jobs:
			runtime.Gosched() // where the processors are busy, requests that are about to join do so: fewer commits
			if group = w.gather(j.add(group[:0])); len(group) > 0 {
				w.commit(group)
			}
		case <-w.closing:
			for { // jobs that were accepted are finished
				select {
				case j := <-w.jobs:
					if group = j.add(group[:0]); len(group) > 0 {
						w.commit(group)
					}
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
			group = j.add(group)
		default:
			return group
		}
	}
	return group
}

// commit runs the group in one transaction: without savepoints, and when that fails, again with one for each job.
func (w *writer) commit(group []*job) {
	if err := w.files.Check(filesAge); err != nil {
		reply(group, err)
		return
	}
	jobFailed, err := w.transaction(func(tx *Tx) error { return runWithoutSavepoints(tx, group) })
	if jobFailed && len(group) > 1 {
		_, err = w.transaction(func(tx *Tx) error { return runWithSavepoints(tx, group) })
	}
	reply(group, err)
	w.log.Committed(w.direct)
}

// transaction runs f in a transaction. jobFailed tells that the error is that of f, not of BEGIN or COMMIT.
func (w *writer) transaction(f func(*Tx) error) (jobFailed bool, err error) {
	tx := newTx(context.Background(), w, &SQLite)
	if err := tx.control("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	tx.open = w.direct.InTransaction
	err = f(tx)
	jobFailed = err != nil
	if !jobFailed {
		err = tx.control("COMMIT")
	}
	if err != nil {
		_ = tx.rollBack()
	}
	return jobFailed, err
}
