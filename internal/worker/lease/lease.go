// Package lease has tasks done by one node at a time. Who has a task is a row in the database, until a time by the
// database's clock: when a node dies or stands still, another one takes the task over after that time.
package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

const (
	length        = 30 * time.Second // for which a task is taken; renewed while it is done
	renewEvery    = length / 5
	returnTimeout = time.Second
)

var errLost = errors.New("another node has taken the task over")

// Lease is the right of this node to a task. A nil Lease is one that nobody else wants.
type Lease struct {
	store  *store.Store
	task   string
	holder string
	log    *slog.Logger
	held   atomic.Bool
}

// New returns the lease of a task for this node.
func New(s *store.Store, task string, log *slog.Logger) *Lease {
	return &Lease{store: s, task: task, holder: uuid7.New(), log: log}
}

// Task names the task.
func (l *Lease) Task() string { return l.task }

// Held reports whether this node did the task when it was last due.
func (l *Lease) Held() bool { return l.held.Load() }

// Do does the task, unless another node has it, and reports whether it did. Afterwards the task stays with this node
// for the time keep, in which it should do it again. The context of the task ends when the lease is lost: the node
// stood still, or could not reach the database for so long that another one has taken over.
func (l *Lease) Do(ctx context.Context, keep time.Duration, task func(context.Context) error) (done bool, err error) {
	if l == nil {
		return true, task(ctx)
	}
	taken, err := l.store.TakeLease(ctx, l.task, l.holder, length)
	l.held.Store(taken)
	if err != nil || !taken {
		return false, err
	}
	running, lost := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		l.renew(running, lost)
	}()
	err = task(running)
	if errors.Is(context.Cause(running), errLost) {
		l.held.Store(false)
		l.log.WarnContext(ctx, "a task was lost to another node", "task", l.task)
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

// renew keeps the lease until ctx ends, or ends it with errLost.
func (l *Lease) renew(ctx context.Context, lost context.CancelCauseFunc) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch taken, err := l.store.TakeLease(ctx, l.task, l.holder, length); {
		case ctx.Err() != nil:
			return
		case err == nil && taken:
			last = time.Now()
		case err == nil || time.Since(last) > length:
			lost(errLost)
			return
		}
	}
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
