package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// job is a use case that waits to become part of a transaction.
type job struct {
	run      func(*Tx) error
	creation *Creation // what run does, where it can be done in one go with others
	result   chan error
	err      error
	begun    atomic.Bool // taken by the writer, or given up before
}

// add adds the job to a group, unless whoever asked for it has given up.
func (j *job) add(group []*job) []*job {
	if j.begun.Swap(true) {
		return group
	}
	return append(group, j)
}

func newJob(f func(*Tx) error) *job { return &job{run: f, result: make(chan error, 1)} }

// runTogether runs all jobs of a group in one transaction, without savepoints. It returns an error when the transaction
// is to be rolled back: when a job has failed that had written something. Then nothing of the group is done, and each
// job has to run apart from the others.
func runTogether(tx *Tx, group []*job) error {
	var creations []*Creation
	for _, j := range group {
		if j.creation != nil {
			creations = append(creations, j.creation)
		}
	}
	tx.last = len(creations) == len(group)
	if err := tx.protect(func(tx *Tx) error { return tx.createOrders(creations) }); err != nil {
		return err
	}
	for _, j := range group {
		if j.creation != nil {
			j.err = j.creation.refusal
			continue
		}
		tx.wrote = false
		if j.err = tx.protect(j.run); j.err != nil && tx.wrote {
			return j.err
		}
	}
	return nil
}

// runApart runs the jobs of a group in one transaction, each in its own SAVEPOINT: one that fails is rolled back alone.
// It returns an error only when the transaction itself has failed, and with it all of them.
func runApart(tx *Tx, group []*job) error {
	for _, j := range group {
		if err := tx.control("SAVEPOINT use_case"); err != nil {
			return err
		}
		if j.err = tx.protect(j.run); j.err != nil {
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
