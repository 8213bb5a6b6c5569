package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/worker/lease"
)

const task = "sweep"

// TestDo has two nodes want one task: it is done by the one that has it, until that one leaves it, or dies.
func TestDo(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	log := slog.New(slog.DiscardHandler)
	a := lease.New(storetest.Open(t, target), task, log)
	b := lease.New(storetest.Open(t, target), task, log)
	boom := errors.New("boom")
	do := func(l *lease.Lease, keep time.Duration, want bool) {
		t.Helper()
		ran := false
		done, err := l.Do(t.Context(), keep, func(context.Context) error {
			ran = true
			return boom
		})
		if ran != want || done != want || want != errors.Is(err, boom) || l.Held() != want {
			t.Errorf("done %v, ran %v, held %v, %v; want %v", done, ran, l.Held(), err, want)
		}
	}
	do(a, time.Hour, true)
	do(b, time.Hour, false)
	do(a, time.Hour, true)
	a.Return(t.Context())
	do(b, time.Hour, true)
	do(a, time.Hour, false)

	// b dies: by the clock of the database its time passes.
	rawsql.Exec(t, target, "UPDATE task_leases SET lease_until = lease_until - 3600000000")
	do(a, time.Hour, true)
	do(b, time.Hour, false)

	// A clock that was wrong has given it for years.
	rawsql.Exec(t, target, "UPDATE task_leases SET lease_until = lease_until + 31536000000000")
	do(b, 0, true)
	do(a, time.Hour, true)

	// A node that is told to stop leaves the task to others at once.
	ctx, stop := context.WithCancel(t.Context())
	_, err := a.Do(ctx, time.Hour, func(ctx context.Context) error {
		stop()
		<-ctx.Done()
		return nil
	})
	must.NoError(t, err)
	do(b, time.Hour, true)
}

// TestDo_Lost ends the task of a node that has lost it, as when it stood still.
func TestDo_Lost(t *testing.T) {
	t.Parallel()
	target := pgtest.Database(t)
	s := storetest.Open(t, target)
	l := lease.New(s, task, slog.New(slog.DiscardHandler))
	done, err := l.Do(t.Context(), time.Hour, func(ctx context.Context) error {
		rawsql.Exec(t, target, "UPDATE task_leases SET holder = 'another'")
		<-ctx.Done()
		return ctx.Err()
	})
	if done || err != nil || l.Held() {
		t.Errorf("done %v, %v, held %v", done, err, l.Held())
	}
	taken, err := s.TakeLease(t.Context(), task, "a third", time.Minute)
	must.NoError(t, err)
	if taken {
		t.Error("the lease of the other node was given away")
	}
}

// TestDo_Alone has nothing to agree on: SQLite has one server, and without a lease there is one worker.
func TestDo_Alone(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t))
	for _, l := range []*lease.Lease{nil, lease.New(s, task, nil), lease.New(s, task, nil)} {
		done, err := l.Do(t.Context(), time.Hour, func(context.Context) error { return nil })
		if !done || err != nil {
			t.Errorf("done %v, %v", done, err)
		}
	}
}

// slowDatabase keeps one lease. It counts from when it is asked, and answers later.
type slowDatabase struct {
	answers []time.Duration // how long it takes for one after the other; then it answers nothing
	until   time.Time
}

func (d *slowDatabase) TakeLease(ctx context.Context, _, _ string, length time.Duration) (bool, error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second) // as a transaction
	defer cancel()
	if end, ok := ctx.Deadline(); ok {
		limited, cancel = context.WithDeadline(limited, end)
		defer cancel()
	}
	if len(d.answers) == 0 {
		<-limited.Done()
		return false, limited.Err()
	}
	d.until = time.Now().Add(length)
	time.Sleep(d.answers[0])
	d.answers = d.answers[1:]
	return true, nil
}

func (d *slowDatabase) ReturnLease(context.Context, string, string) error { return nil }

// TestDo_SlowDatabase checks that a task has ended when the database gives it to another node, however late it has
// answered, and whether or not it is being asked.
func TestDo_SlowDatabase(t *testing.T) {
	const slow = 14 * time.Second
	for name, answers := range map[string][]time.Duration{
		"NeverRenewed": {0}, "TakenLate": {slow}, "RenewedLate": {0, slow, slow}, "OnceLate": {0, 0, slow},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &slowDatabase{answers: answers}
				l := lease.New(d, task, slog.New(slog.DiscardHandler))
				var ended time.Time
				done, err := l.Do(t.Context(), time.Hour, func(ctx context.Context) error {
					<-ctx.Done()
					ended = time.Now()
					return ctx.Err()
				})
				if done || err != nil || l.Held() {
					t.Errorf("done %v, %v, held %v", done, err, l.Held())
				}
				if late := ended.Sub(d.until); late > 0 {
					t.Errorf("the task ended %v after its lease", late)
				}
				if late := time.Since(d.until); late > 0 {
					t.Errorf("the database was asked for %v after the end of the lease", late)
				}
			})
		})
	}
}
