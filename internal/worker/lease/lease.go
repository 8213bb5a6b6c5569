// Package lease has tasks done by one node at a time. Who has a task is a row in the database, until a time by the
// database's clock: when a node dies or stands still, another one takes the task over after that time.
package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/store/uuid7"
)

const (
	length        = 30 * time.Second // for which a task is taken; renewed while it is done
	renewEvery    = length / 5
	returnTimeout = time.Second
)

var errLost = errors.New("another node may have taken the task over")

// Store keeps the leases.
type Store interface {
	// TakeLease gives a task to the holder for a time, unless another one has it.
	TakeLease(ctx context.Context, task, holder string, length time.Duration) (taken bool, err error)

	// ReturnLease gives up a task that the holder has.
	ReturnLease(ctx context.Context, task, holder string) error
}

// Lease is the right of this node to a task. A nil Lease is one that nobody else wants.
type Lease struct {
	store  Store
	task   string
	holder string
	log    *slog.Logger
	held   atomic.Bool
}

// New returns the lease of a task for this node.
func New(s Store, task string, log *slog.Logger) *Lease {
	return &Lease{store: s, task: task, holder: uuid7.New(), log: log}
}

// Task names the task.
func (l *Lease) Task() string { return l.task }

// Held reports whether this node did the task when it was last due.
func (l *Lease) Held() bool { return l.held.Load() }

// Do does the task, unless another node has it, and reports whether it did. Afterwards the task stays with this node
// for the time keep, in which it should do it again. The context of the task ends when the lease is lost: the node
// stood still, or could not reach the database for so long that another one may take over.
func (l *Lease) Do(ctx context.Context, keep time.Duration, task func(context.Context) error) (done bool, err error) {
	if l == nil {
		return true, task(ctx)
	}
	asked := time.Now()
	taken, err := l.store.TakeLease(ctx, l.task, l.holder, length)
	l.held.Store(taken)
	if err != nil || !taken {
		return false, err
	}
	running, lost := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		l.renew(running, asked.Add(length), lost)
	}()
	err = task(running)
	if errors.Is(context.Cause(running), errLost) {
		l.held.Store(false)
		l.log.WarnContext(ctx, "a task was lost: another node may have it", "task", l.task)
		<-renewed
		return false, nil
	}
	lost(nil)
	<-renewed
	if ctx.Err() != nil {
		l.Return(ctx)
		return true, err
	}
	if _, e := l.store.TakeLease(ctx, l.task, l.holder, keep); e != nil {
		l.log.WarnContext(ctx, "a task could not be kept", "task", l.task, "error", e) // it ends by itself
	}
	return true, err
}

// renew keeps the lease, which ends at a time, until ctx ends, or ends ctx with errLost: when another node has the
// lease, or at its end. That is counted from when the database was asked: it counts from then, too, or a little later.
func (l *Lease) renew(ctx context.Context, end time.Time, lost context.CancelCauseFunc) {
	over := time.AfterFunc(time.Until(end), func() { lost(errLost) })
	defer over.Stop()
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		taken, err := l.take(ctx, end)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && !taken:
			lost(errLost)
			return
		case err == nil:
			end = asked.Add(length)
			over.Reset(time.Until(end))
		}
	}
}

// take renews the lease before it ends.
func (l *Lease) take(ctx context.Context, end time.Time) (bool, error) {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	return l.store.TakeLease(ctx, l.task, l.holder, length)
}

// Return lets another node have the task at once.
func (l *Lease) Return(ctx context.Context) {
	if l == nil || !l.held.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTimeout)
	defer cancel()
	if err := l.store.ReturnLease(ctx, l.task, l.holder); err != nil {
		l.log.WarnContext(ctx, "a task could not be returned: another node gets it later", "task", l.task, "error", err)
	}
}
