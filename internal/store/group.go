package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// job is a use case that waits to become part of a transaction.
type job struct {
	run    func(conn) error
	result chan error
	err    error
}

func newJob(f func(conn) error) *job { return &job{run: f, result: make(chan error, 1)} }

// together runs a group of use cases in one transaction, each in a SAVEPOINT of its own: one that fails is rolled back
// alone. It returns an error only when the transaction itself has failed, and with it all of them.
func together(ctx context.Context, c conn, group []*job) error {
	for _, j := range group {
		if err := guarded(ctx, c, j); err != nil {
			return err
		}
	}
	return nil
}

func guarded(ctx context.Context, c conn, j *job) error {
	if err := control(ctx, c, "SAVEPOINT use_case"); err != nil {
		return err
	}
	if j.err = j.run(c); retryable(j.err) {
		return j.err
	}
	if j.err != nil {
		if err := control(ctx, c, "ROLLBACK TO use_case"); err != nil {
			return fmt.Errorf("roll back to savepoint: %w (after %w)", err, j.err)
		}
	}
	return control(ctx, c, "RELEASE use_case")
}

func control(ctx context.Context, c conn, text string) error {
	_, err := c.exec(ctx, text, nil)
	return err
}

// answer tells all of a group how they fared; err is that of the transaction.
func answer(group []*job, err error) {
	for _, j := range group {
		if err != nil {
			j.err = err
		}
		j.result <- j.err
	}
}

// groups brings together what changes the same row. In PostgreSQL such transactions would wait for each other's commit,
// with a connection each, and one busy account would take the whole pool from everybody. So they become one transaction:
// while a group is at work, the next one gathers.
type groups struct {
	mu      sync.Mutex
	waiting map[string][]*job // by what names the row; it has an entry while a group of the row is at work
}

// run has the use case become part of the next group of its row, which commit runs, and waits until it is on disk, or
// refused. ctx ends the waiting for the group, not the work.
func (g *groups) run(ctx context.Context, row string, f func(conn) error, commit func([]*job)) error {
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

// join reports whether the row had no group at work.
func (g *groups) join(row string, j *job) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = make(map[string][]*job)
	}
	waiting, busy := g.waiting[row]
	g.waiting[row] = append(waiting, j)
	return !busy
}

// maxTogether is how many use cases become one transaction in PostgreSQL, which keeps up to 64 savepoints at hand.
const maxTogether = 32

// next returns those who have waited the longest, or nil when nobody waits: the row is at rest then.
func (g *groups) next(row string) []*job {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.waiting[row]
	if len(waiting) == 0 {
		delete(g.waiting, row)
		return nil
	}
	n := min(len(waiting), maxTogether)
	g.waiting[row] = slices.Clone(waiting[n:])
	return waiting[:n]
}

// withdraw reports whether the use case was still waiting.
func (g *groups) withdraw(row string, j *job) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting[row], j)
	if i >= 0 {
		g.waiting[row] = slices.Delete(g.waiting[row], i, i+1)
	}
	return i >= 0
}
