package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Mergeable is work that one set of statements can do for a whole group.
type Mergeable interface {
	// Run does the work alone.
	Run(tx *Tx) error

	// RunGroup does the work of a group, to which it belongs. Nothing else runs in a transaction that ends with it: its
	// last batch may commit it. An error undoes the whole group.
	RunGroup(tx *Tx, group []Mergeable, ends bool) error

	// Refusal returns why RunGroup has left this one out; nil: it has not.
	Refusal() error
}

// job is work that waits to become part of a transaction.
type job struct {
	ctx       context.Context // of whoever asked for it
	run       func(*Tx) error
	mergeable Mergeable // where set, it is done instead of run
	result    chan error
	err       error

	turn    sync.Mutex // held while the work runs: it writes to what belongs to whoever asked for it
	givenUp bool       // by whoever asked for it; under turn
	begun   bool       // and not known to be undone; under turn
}

// newJob returns a job that runs f, or else the mergeable work.
func newJob(ctx context.Context, f func(*Tx) error, m Mergeable) *job {
	return &job{ctx: ctx, run: f, mergeable: m, result: make(chan error, 1)}
}

// add adds the job to a group, unless whoever asked for it has given up.
func (j *job) add(group []*job) []*job {
	if j.abandoned() {
		return group
	}
	return append(group, j)
}

// abandoned reports whether whoever asked for the job has given up.
func (j *job) abandoned() bool {
	j.turn.Lock()
	defer j.turn.Unlock()
	return j.givenUp
}

// begin takes the turn of the job, which the caller gives back when the work has ended, or refuses to.
func (j *job) begin() error {
	j.turn.Lock()
	if j.givenUp {
		j.turn.Unlock()
		return errHeldUp
	}
	j.begun = true
	return nil
}

// giveUp keeps the work from being begun, or begun again, after the end of what runs of it. It reports whether it was
// begun: then only the result tells whether it is done.
func (j *job) giveUp() (begun bool) {
	j.turn.Lock()
	defer j.turn.Unlock()
	j.givenUp = true
	return j.begun
}

// undone notes that the transaction of the job was rolled back. Whoever has given up meanwhile is told so at once.
func (j *job) undone() (givenUp bool) {
	j.turn.Lock()
	defer j.turn.Unlock()
	if j.begun = false; j.givenUp {
		j.result <- errHeldUp
	}
	return j.givenUp
}

// late reports whether the time is up that whoever asked for the job has for it.
func (j *job) late() bool {
	end, limited := j.ctx.Deadline()
	return limited && !time.Now().Before(end)
}

// do does the job alone. A panic becomes an error.
func (j *job) do(tx *Tx) (err error) {
	if err := j.begin(); err != nil {
		return err
	}
	defer j.turn.Unlock()
	defer tx.recovered(&err)
	if j.mergeable != nil {
		return j.mergeable.Run(tx)
	}
	return j.run(tx)
}

// runMergeable does the mergeable work of a group with one set of statements.
func runMergeable(tx *Tx, group []*job) (err error) {
	var began []*job
	var merged []Mergeable
	for _, j := range group {
		if j.mergeable == nil {
			continue
		}
		if j.err = j.begin(); j.err == nil {
			defer j.turn.Unlock()
			began, merged = append(began, j), append(merged, j.mergeable)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	defer tx.recovered(&err)
	if err := merged[0].RunGroup(tx, merged, len(merged) == len(group)); err != nil {
		return err
	}
	for _, j := range began {
		j.err = j.mergeable.Refusal()
	}
	return nil
}

// runWithoutSavepoints runs the jobs of a group in one transaction. It returns an error when the transaction is to be
// rolled back: when a job has failed that had written something, or SQLite has rolled back by itself. Then nothing of
// the group is done, and each job has to run in a savepoint or a transaction of its own.
func runWithoutSavepoints(tx *Tx, group []*job) error {
	if err := runMergeable(tx, group); err != nil {
		return err
	}
	for _, j := range group {
		if j.mergeable != nil {
			continue
		}
		tx.wrote = false
		if j.err = j.do(tx); j.err != nil && tx.wrote {
			return j.err
		}
		if err := tx.rolledBack(); err != nil { // by a read, or by what the job has not told of
			return err
		}
	}
	return nil
}

// runWithSavepoints runs the jobs of a group in one transaction, each in its own SAVEPOINT: one that fails is rolled
// back alone. It returns an error only when the transaction itself has failed, and with it all of them.
func runWithSavepoints(tx *Tx, group []*job) error {
	for _, j := range group {
		if err := tx.control("SAVEPOINT use_case"); err != nil {
			return err
		}
		if j.err = j.do(tx); j.err != nil {
			if err := tx.control("ROLLBACK TO use_case"); err != nil {
				return fmt.Errorf("roll back to savepoint: %w (after %w)", err, j.err)
			}
		}
		if err := tx.control("RELEASE use_case"); err != nil {
			return err
		}
	}
	return nil
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

// run adds a job to the next group of its row, which commit runs, and waits until it is committed or has failed. The
// end of the job's context ends the wait, but where the work has begun: then for as long as its transaction may still
// be committed. What has not begun by then is never done.
func (g *groups) run(row string, j *job, commit func([]*job)) error {
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
	case <-j.ctx.Done():
	}
	if j.giveUp() {
		if err := <-j.result; !errors.Is(err, errHeldUp) {
			return err
		}
	}
	return j.ctx.Err()
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

// maxJoined is how many jobs become one transaction in PostgreSQL.
const maxJoined = 64

// next returns the jobs that have waited the longest, or nil when there is none: then no group of the row is running.
func (g *groups) next(row string) (group []*job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.waiting[row]
	for ; len(waiting) > 0 && len(group) < maxJoined; waiting = waiting[1:] {
		group = waiting[0].add(group)
	}
	if len(group) == 0 {
		delete(g.waiting, row)
		return nil
	}
	g.waiting[row] = slices.Clone(waiting)
	return group
}
