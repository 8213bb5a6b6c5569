package db

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store/admission"
	"github.com/assayhq/assay/internal/testkit/must"
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

// TestWriteHeldUp_Deadline checks that background work waits for its write until its deadline, where it has one.
func TestWriteHeldUp_Deadline(t *testing.T) {
	s := openTest(t)
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
	limited, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	done, ended := false, make(chan error, 1)
	go func() {
		ended <- s.Update(limited, func(*Tx) error {
			done = true
			return nil
		})
	}()
	select {
	case err := <-ended:
		if fault.CodeOf(err) != fault.CodeUnavailable {
			t.Errorf("%v, want %s", err, fault.CodeUnavailable)
		}
	case <-time.After(time.Minute):
		t.Error("a write waits beyond its deadline")
	}
	close(disk)
	if err := errors.Join(<-standing, s.Update(background, func(*Tx) error { return nil })); err != nil {
		t.Error(err)
	}
	if done {
		t.Error("a write was done after it was given up")
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

// TestLogShrinks checks that the log, which cannot be begun anew while a snapshot is open, gives its place on the disk
// back afterwards.
func TestLogShrinks(t *testing.T) {
	s := openTest(t)
	write := func(text string) {
		t.Helper()
		if err := s.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec(text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(s.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const large = 100 << 20
	write("CREATE TABLE fillers (filler BLOB)")
	if err := s.Snapshot(t.Context(), func(q Queries) error {
		if _, err := Value[int64](t.Context(), q, "SELECT COUNT(*) FROM fillers"); err != nil {
			return err
		}
		for range large >> 22 {
			write("INSERT INTO fillers VALUES (zeroblob(4194304))")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n := size(); n < large {
		t.Fatalf("the log has only %d bytes", n)
	}
	must.Eventually(t, time.Minute, "the log is short again", func() bool {
		write("INSERT INTO fillers VALUES (zeroblob(1))")
		return size() <= 64<<20
	})
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
		"FailedInARow": func(tx *Tx) error {
			_, err := Value[int64](tx.Context(), tx.Queries, "INSERT INTO large (v) VALUES (zeroblob(1000000)) RETURNING 1")
			return errors.Join(err, tx.Insert("entries (v)", "statement"))
		},
		"FailedInRows": func(tx *Tx) error {
			_, err := Column[int64](tx.Context(), tx.Queries, "INSERT INTO large (v) VALUES (zeroblob(1000000)) RETURNING 1")
			return errors.Join(err, tx.Insert("entries (v)", "statement"))
		},
		"ForgottenInRows": func(tx *Tx) error {
			_, _ = Column[int64](tx.Context(), tx.Queries, "INSERT INTO large (v) VALUES (zeroblob(1000000)) RETURNING 1")
			_ = tx.Insert("entries (v)", "statement")
			return nil
		},
		"FailedRead": func(tx *Tx) error { return errors.Join(failedRead(t, s, tx), tx.Insert("entries (v)", "statement")) },
		"ForgottenRead": func(tx *Tx) error {
			_ = failedRead(t, s, tx)
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

// failedRead reads while the log of the database lacks its end, as on a disk that fails, and returns the error: SQLite
// answers it by rolling back the transaction.
func failedRead(t *testing.T, s *DB, tx *Tx) error {
	t.Helper()
	if err := s.writer.direct.Exec("PRAGMA shrink_memory"); err != nil { // the read has to go to the file
		t.Errorf("shrink the cache: %v", err)
	}
	logPath := s.path + "-wal"
	whole, err := os.ReadFile(logPath)
	if err := errors.Join(err, os.Truncate(logPath, 0)); err != nil {
		t.Errorf("cut the log: %v", err)
	}
	_, failed := Column[int64](tx.Context(), tx.Queries, "SELECT COUNT(*) FROM entries")
	if failed == nil {
		t.Error("the read has not failed")
	}
	if err := os.WriteFile(logPath, whole, 0o600); err != nil {
		t.Errorf("mend the log: %v", err)
	}
	return failed
}

// TestUpdate_RolledBackByARead checks that a use case is done once that is in a group with one whose read has made
// SQLite roll back, and which has to be run again itself.
func TestUpdate_RolledBackByARead(t *testing.T) {
	s := openTest(t)
	if err := s.Update(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec("CREATE TABLE entries (v TEXT)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	begun, together := make(chan struct{}), make(chan struct{})
	results := make(chan error, 3)
	update := func(work func(*Tx) error) { go func() { results <- s.Update(t.Context(), work) }() }
	awaitWaiting := func(n int) {
		for len(s.writer.jobs) != n {
			runtime.Gosched()
		}
	}
	update(func(*Tx) error {
		close(begun)
		<-together
		return nil
	})
	<-begun
	runs := 0
	update(func(tx *Tx) error {
		if runs++; runs == 1 {
			return failedRead(t, s, tx)
		}
		return nil
	})
	awaitWaiting(1)
	update(func(tx *Tx) error {
		err := tx.Insert("entries (v)", "balance")
		if runs == 1 {
			return errors.Join(err, errors.New("the ledger entry was refused"))
		}
		return err
	})
	awaitWaiting(2)
	close(together)
	if err := errors.Join(<-results, <-results, <-results); err != nil {
		t.Error(err)
	}
	n, err := Value[int64](t.Context(), s.Queries, "SELECT COUNT(*) FROM entries")
	if n != 1 || err != nil {
		t.Errorf("%d entries were written, %v, want 1", n, err)
	}
}

// TestUpdate_EndedBySQLite checks that SQLite is asked whether there is still a transaction, whatever errors have said.
func TestUpdate_EndedBySQLite(t *testing.T) {
	s := openTest(t)
	err := s.Update(t.Context(), func(tx *Tx) error {
		if err := s.writer.direct.Exec("ROLLBACK"); err != nil {
			return err
		}
		_ = tx.Insert("numbers (n)", 2)
		return nil
	})
	if !errors.Is(err, errRolledBack) {
		t.Errorf("got %v, want %v", err, errRolledBack)
	}
	n, err := Value[int64](t.Context(), s.Queries, "SELECT COUNT(*) FROM numbers")
	if n != 1 || err != nil {
		t.Errorf("%d numbers, %v, want 1", n, err)
	}
}
