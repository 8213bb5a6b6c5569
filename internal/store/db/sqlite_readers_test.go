package db

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

// wantOwnError checks that a read ends with the error that its caller has with a record.
func wantOwnError(t *testing.T, read func(each func() error) error) {
	t.Helper()
	own := errors.New("own")
	if err := read(func() error { return own }); !errors.Is(err, own) {
		t.Errorf("got %v, want the error of the caller", err)
	}
}

// TestReaders_ServeWaiting checks that reads which wait for a connection are run by the one who has it: each gets its
// own result and sees what was committed before it came, and a failing one fails alone.
func TestReaders_ServeWaiting(t *testing.T) {
	s := openTest(t)
	r, err := newReaders(newStatements(s.sql.PrepareContext, maxStatements), s.path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.close() }()
	number := func(take func(int64)) error {
		rec := new(Record)
		return r.records(t.Context(), "SELECT n FROM numbers", nil, rec, func() error {
			take(rec.Integer(0))
			return nil
		})
	}
	set := func(n int64) {
		t.Helper()
		if err := s.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec("UPDATE numbers SET n = $1", n)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}

	awaitWaiting := func(n int) {
		for waiting := -1; waiting != n; {
			r.lock.Lock()
			waiting = len(r.waiting)
			r.lock.Unlock()
		}
	}

	const waiters = 2*maxReadsPerTransaction + 3
	held, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		if err := number(func(int64) { close(held); <-release }); err != nil {
			t.Error(err)
		}
	})
	<-held
	gone, cancel := context.WithCancel(t.Context())
	all.Go(func() {
		if err := r.records(gone, "SELECT 1", nil, new(Record), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a read whose request has ended: %v", err)
		}
	})
	awaitWaiting(1)
	cancel()
	awaitWaiting(0)
	set(7)
	for i := range waiters {
		all.Go(func() {
			switch i % 8 {
			case 1:
				defer func() { _ = recover() }() // one that got the connection ran its read itself
				err := number(func(int64) { panic("at the disco") })
				if err == nil || !strings.Contains(err.Error(), "at the disco") {
					t.Errorf("a panic became %v", err)
				}
			case 2:
				if err := r.records(t.Context(), "SELECT nothing", nil, new(Record), nil); err == nil {
					t.Error("a wrong statement has a result")
				}
			case 3:
				wantOwnError(t, func(each func() error) error {
					return r.records(context.Background(), "SELECT 1", nil, new(Record), each)
				})
			default:
				var got int64
				if err := number(func(n int64) { got = n }); err != nil || got != 7 {
					t.Errorf("read %d, %v, want 7", got, err)
				}
			}
		})
	}
	awaitWaiting(waiters)
	close(release)
	all.Wait()

	set(8)
	if err := number(func(n int64) {
		if n != 8 {
			t.Errorf("read %d after a commit of 8", n)
		}
	}); err != nil || len(r.free) != 1 {
		t.Errorf("%v, %d connections are free", err, len(r.free))
	}
}

// TestReaders_Close checks that a connection is closed after the read that runs on it, that a read which waits for it
// is refused, and also one that comes later.
func TestReaders_Close(t *testing.T) {
	s := openTest(t)
	r, err := newReaders(newStatements(s.sql.PrepareContext, maxStatements), s.path, 1)
	if err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context, each func() error) error {
		return r.records(ctx, "SELECT n FROM numbers", nil, new(Record), each)
	}
	held, release := make(chan struct{}), make(chan struct{})
	running, waiting, closed := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		running <- read(t.Context(), func() error { close(held); <-release; return nil })
	}()
	<-held
	go func() { waiting <- read(t.Context(), func() error { return nil }) }()
	for n := 0; n != 1; {
		r.lock.Lock()
		n = len(r.waiting)
		r.lock.Unlock()
	}
	go func() { closed <- r.close() }()
	if err := <-waiting; !errors.Is(err, errClosed) {
		t.Errorf("a read that waits: %v", err)
	}
	if err := read(t.Context(), func() error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("a read after the end: %v", err)
	}
	select {
	case err := <-closed:
		t.Errorf("it was closed while a read ran: %v", err)
	default:
	}
	close(release)
	if err := errors.Join(<-running, <-closed); err != nil {
		t.Error(err)
	}
	if err := read(t.Context(), func() error { return nil }); !errors.Is(err, errClosed) {
		t.Errorf("a read after all: %v", err)
	}
}
