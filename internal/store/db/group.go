package db

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	run       func(*Tx) error
	mergeable Mergeable // where set, it is done instead of run
	result    chan error
	err       error

	turn    sync.Mutex // held while the work runs: it writes to what belongs to whoever asked for it
	givenUp bool       // by whoever asked for it; under turn
}

// add adds the job to a group, unless whoever asked for it has given up.
func (j *job) add(group []*job) []*job {
	if j.begin() != nil {
		return group
	}
	j.turn.Unlock()
	return append(group, j)
}

// begin takes the turn of the job, which the caller gives back when the work has ended, or refuses to.
func (j *job) begin() error {
	j.turn.Lock()
	if j.givenUp {
		j.turn.Unlock()
		return errHeldUp
	}
	return nil
}

// giveUp keeps the work from being begun, or begun again, after the end of what runs of it.
func (j *job) giveUp() {
	j.turn.Lock()
	defer j.turn.Unlock()
	j.givenUp = true
}

// newJob returns a job that runs f, or else the mergeable work.
func newJob(f func(*Tx) error, m Mergeable) *job {
	return &job{run: f, mergeable: m, result: make(chan error, 1)}
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

// run adds a job to the next group of its row, which commit runs, and waits until it is committed or has failed. ctx
// ends the wait for the group, not a transaction that has begun.
func (g *groups) run(ctx context.Context, row string, j *job, commit func([]*job)) error {
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

// maxJoined is how many jobs become one transaction in PostgreSQL.
const maxJoined = 64

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
