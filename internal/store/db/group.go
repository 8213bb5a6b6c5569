package db

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Member is work of which a group can be done in one go.
type Member interface {
	// Run does the work alone.
	Run(tx *Tx) error

	// RunGroup does the work of a group, to which it belongs. Nothing else runs in a transaction that ends with it: its
	// last batch may commit it. An error undoes the whole group.
	RunGroup(tx *Tx, group []Member, ends bool) error

	// Refusal returns why RunGroup has left this member out; nil: it has not.
	Refusal() error
}

// job is work that waits to become part of a transaction.
type job struct {
	run    func(*Tx) error
	member Member // what is to be done instead of run
	result chan error
	err    error

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

// newJob returns a job that runs f, or the member instead.
func newJob(f func(*Tx) error, m Member) *job {
	return &job{run: f, member: m, result: make(chan error, 1)}
}

// do does the job alone. A panic becomes an error.
func (j *job) do(tx *Tx) (err error) {
	if err := j.begin(); err != nil {
		return err
	}
	defer j.turn.Unlock()
	defer tx.recovered(&err)
	if j.member != nil {
		return j.member.Run(tx)
	}
	return j.run(tx)
}

// runMembers does the work of all members of a group in one go.
func runMembers(tx *Tx, group []*job) (err error) {
	var began []*job
	var members []Member
	for _, j := range group {
		if j.member == nil {
			continue
		}
		if j.err = j.begin(); j.err == nil {
			defer j.turn.Unlock()
			began, members = append(began, j), append(members, j.member)
		}
	}
	if len(members) == 0 {
		return nil
	}
	defer tx.recovered(&err)
	if err := members[0].RunGroup(tx, members, len(members) == len(group)); err != nil {
		return err
	}
	for _, j := range began {
		j.err = j.member.Refusal()
	}
	return nil
}

// runTogether runs all jobs of a group in one transaction, without savepoints. It returns an error when the transaction
// is to be rolled back: when a job has failed that had written something. Then nothing of the group is done, and each
// job has to run apart from the others.
func runTogether(tx *Tx, group []*job) error {
	if err := runMembers(tx, group); err != nil {
		return err
	}
	for _, j := range group {
		if j.member != nil {
			continue
		}
		tx.wrote = false
		if j.err = j.do(tx); j.err != nil && tx.wrote {
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
