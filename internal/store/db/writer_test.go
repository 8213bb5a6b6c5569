package db

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store/admission"
)

// TestWriteHeldUp checks that a request whose write the disk holds up is told that the service is unavailable, and that
// what had not begun by then is never done.
func TestWriteHeldUp(t *testing.T) {
	s := openTest(t)
	s.writer.limit = 50 * time.Millisecond
	background := admission.Unhurried(t.Context())
	disk, begun := make(chan struct{}), make(chan struct{})
	standing := make(chan error, 1)
	go func() {
		standing <- s.Update(background, func(*Tx) error {
			close(begun)
			<-disk
			return nil
		})
	}()
	<-begun
	done := false
	if err := s.Update(t.Context(), func(*Tx) error {
		done = true
		return nil
	}); fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("%v, want %s", err, fault.CodeUnavailable)
	}
	patient := make(chan error, 1)
	go func() {
		patient <- s.Update(background, func(*Tx) error { return nil })
	}()
	select {
	case err := <-patient:
		t.Errorf("background work does not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(disk)
	if err := errors.Join(<-standing, <-patient); err != nil {
		t.Error(err)
	}
	if done {
		t.Error("a write was done after its request was told that it was not")
	}
}

// TestWriteHeldUp_Begun checks that a request is told so, too, whose work has ended, but not its commit, and that one
// whose work still runs when its time is up has its answer after the end of it: the work writes to what the request
// reads then.
func TestWriteHeldUp_Begun(t *testing.T) {
	s := openTest(t)
	s.writer.limit = 50 * time.Millisecond
	background := admission.Unhurried(t.Context())
	update := func(ctx context.Context, work func()) <-chan error {
		result := make(chan error, 1)
		go func() {
			result <- s.Update(ctx, func(*Tx) error {
				work()
				return nil
			})
		}()
		return result
	}
	awaitWaiting := func(n int) {
		for len(s.writer.jobs) != n {
			runtime.Gosched()
		}
	}
	begun, together, disk := make(chan struct{}), make(chan struct{}), make(chan struct{})
	before := update(background, func() { close(begun); <-together })
	<-begun
	ended := update(t.Context(), func() {})
	awaitWaiting(1)
	standing := update(background, func() { <-disk }) // in one group with it
	awaitWaiting(2)
	close(together)
	if err := <-ended; fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("%v, want %s", err, fault.CodeUnavailable)
	}
	close(disk)
	if err := errors.Join(<-before, <-standing); err != nil {
		t.Error(err)
	}

	written := false
	err := s.Update(t.Context(), func(*Tx) error {
		time.Sleep(3 * s.writer.limit)
		written = true
		return nil
	})
	if !written || err != nil && fault.CodeOf(err) != fault.CodeUnavailable {
		t.Errorf("%v, the work had ended: %v", err, written)
	}
}

// TestUpdate_RolledBackBySQLite checks that nothing of a transaction is done in which SQLite has rolled back by itself,
// also where its work goes on after the error.
func TestUpdate_RolledBackBySQLite(t *testing.T) {
	s := openTest(t)
	exec := func(text string) error {
		return s.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec(text)
			return err
		})
	}
	for _, text := range []string{
		"CREATE TABLE large (v BLOB)", "CREATE TABLE entries (v TEXT)", "PRAGMA max_page_count = 100",
	} {
		if err := exec(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, work := range map[string]func(*Tx) error{
		"Failed": func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO large (v) VALUES (zeroblob(1000000))")
			return errors.Join(err, tx.Insert("entries (v)", "statement"),
				tx.Batch([]Command{{Text: "INSERT INTO entries (v) VALUES ('batch')"}}, false))
		},
		"FailedInABatch": func(tx *Tx) error {
			err := tx.Batch([]Command{{Text: "INSERT INTO large (v) VALUES (zeroblob(1000000))"}}, false)
			return errors.Join(err, tx.Insert("entries (v)", "statement"))
		},
		"Forgotten": func(tx *Tx) error {
			_, _ = tx.Exec("INSERT INTO large (v) VALUES (zeroblob(1000000))")
			_ = tx.Insert("entries (v)", "statement")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.Update(t.Context(), work); fault.CodeOf(err) != fault.CodeUnavailable {
				t.Errorf("got %v, want %s", err, fault.CodeUnavailable)
			}
			n, err := Value[int64](t.Context(), s.Queries, "SELECT COUNT(*) FROM entries")
			if n != 0 || err != nil {
				t.Errorf("%d entries were written, %v", n, err)
			}
			if err := exec("DELETE FROM entries"); err != nil {
				t.Errorf("the next transaction: %v", err)
			}
		})
	}
}
