package db

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store/admission"
	"github.com/assayhq/assay/internal/testkit/must"
)

// grouped is work of a group that fails, after which each runs alone.
type grouped struct {
	ctx            context.Context // nil: that of the test
	together, then func(*Tx) error // what it does in the group, and alone; nil: nothing
	runs           int
	result         chan error
}

func (w *grouped) run(tx *Tx) error {
	w.runs++
	f := w.together
	if w.runs > 1 {
		f = w.then
	}
	if f == nil {
		return nil
	}
	return f(tx)
}

// wantPending checks that the caller waits for its result, and wantResult that it has it.
func (w *grouped) wantPending(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-w.result:
		t.Errorf("got %v, while the work may yet be committed", err)
	default:
	}
}

func (w *grouped) wantResult(t *testing.T, want error, runs int) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-w.result:
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	default:
		t.Error("the caller still waits")
	}
	if w.runs != runs {
		t.Errorf("the work has run %d times, want %d", w.runs, runs)
	}
}

// runGrouped begins a group of works, which fails because of a last one that is refused after it has written. What is
// tested needs no statements: the connections are of an engine that lives in the bubble of the test.
func runGrouped(t *testing.T, works ...*grouped) {
	t.Helper()
	runGroupedOn(t, connection(t), works...)
}

// connection returns a pool of one connection.
func connection(t *testing.T) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", ":memory:")
	must.NoError(t, err)
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { must.NoError(t, pool.Close()) })
	return pool
}

func runGroupedOn(t *testing.T, pool *sql.DB, works ...*grouped) {
	t.Helper()
	d := &DB{Queries: Queries{Dialect: &Postgres}, Gate: admission.NewGate(), sql: pool}
	together := make(chan struct{})
	before := &grouped{together: func(*Tx) error { <-together; return nil }}
	refused := &grouped{together: func(tx *Tx) error { tx.wrote = true; return errRefused }}
	refused.then = refused.together
	for _, w := range append(append([]*grouped{before}, works...), refused) {
		if w.ctx == nil {
			w.ctx = t.Context()
		}
		w.result = make(chan error, 1)
		go func() { w.result <- d.UpdateGrouped(w.ctx, "row", w.run) }()
		synctest.Wait()
	}
	close(together)
	synctest.Wait()
}

var errRefused = errors.New("refused")

// TestUpdateGrouped_Alone checks that those whose group has failed do not wait for each other beyond their own time,
// and that none is told that it was not done which may be.
func TestUpdateGrouped_Alone(t *testing.T) {
	test := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	waitFor := func(c <-chan struct{}) func(*Tx) error {
		return func(*Tx) error { <-c; return nil }
	}
	test("GivenUp", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		free := make(chan struct{})
		runs, waits := &grouped{then: waitFor(free)}, &grouped{ctx: ctx}
		runGrouped(t, runs, waits)
		cancel()
		waits.wantResult(t, context.Canceled, 1)
		close(free)
		runs.wantResult(t, nil, 2)
		if waits.runs != 1 {
			t.Error("what was given up was done")
		}
	})
	test("GivenUpWhileItRuns", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		runs := &grouped{ctx: ctx, then: func(*Tx) error { cancel(); return nil }}
		runGrouped(t, runs)
		runs.wantResult(t, nil, 2)
	})
	test("GivenUpInItsGroup", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		failing, free := make(chan struct{}), make(chan struct{})
		first, gone := &grouped{then: waitFor(free)}, &grouped{ctx: ctx}
		runGrouped(t, first, gone, &grouped{together: waitFor(failing)})
		cancel()
		gone.wantPending(t)
		close(failing)
		gone.wantResult(t, context.Canceled, 1)
		close(free)
		first.wantResult(t, nil, 2)
	})
	test("GivenUpBeforeItsConnection", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		pool, free := connection(t), make(chan struct{})
		first := &grouped{then: func(*Tx) error {
			go func() { // who comes before the next one
				c, err := pool.Conn(t.Context())
				must.NoError(t, err)
				<-free
				must.NoError(t, c.Close())
			}()
			time.Sleep(time.Millisecond)
			return nil
		}}
		gone, next := &grouped{ctx: ctx}, new(grouped)
		runGroupedOn(t, pool, first, gone, next)
		time.Sleep(time.Second)
		first.wantResult(t, nil, 2)
		cancel()
		gone.wantResult(t, context.Canceled, 1)
		close(free)
		next.wantResult(t, nil, 2) // that one is given up says nothing of the database
	})
	test("Deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		locked := &grouped{ctx: ctx, then: func(tx *Tx) error {
			<-tx.Context().Done()
			return tx.Context().Err()
		}}
		next := new(grouped)
		runGrouped(t, locked, next)
		time.Sleep(3 * time.Second)
		locked.wantResult(t, context.DeadlineExceeded, 2)
		next.wantResult(t, nil, 2) // the one before had too little time, which says nothing of the database
	})
	test("DatabaseAway", func(t *testing.T) {
		first := &grouped{then: func(*Tx) error { return &pgconn.PgError{Code: "57P01"} }}
		next := new(grouped)
		runGrouped(t, first, next)
		for w, runs := range map[*grouped]int{first: 2, next: 1} {
			if err := <-w.result; fault.CodeOf(err) != fault.CodeUnavailable || w.runs != runs {
				t.Errorf("got %v after %d runs, want %s after %d", err, w.runs, fault.CodeUnavailable, runs)
			}
		}
	})
}
