package store

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCheckpoint checks that pages leave the log while there are commits, so that the log stays short, that one who
// reads for long only delays that, and that the database is whole.
func TestCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assay.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s.writer.log.begin = 80
	execTest(t, s, "CREATE TABLE filler (id BIGINT PRIMARY KEY, filler TEXT NOT NULL)")
	n := 0
	fill := func(pages int) {
		t.Helper()
		for range pages {
			n++
			execTest(t, s, "INSERT INTO filler (id, filler) VALUES ("+strconv.Itoa(n)+", '"+strings.Repeat("x", 4000)+"')")
		}
	}
	length := func() int64 {
		t.Helper()
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size() / 4096
	}
	// The log was begun anew where it does not grow although much was written.
	begunAnew := func() bool {
		t.Helper()
		before := length()
		fill(50)
		return length() == before
	}
	within := time.Now().Add(time.Minute)
	for !begunAnew() {
		if time.Now().After(within) {
			t.Fatalf("after %d commits the log has %d pages", n, length())
		}
	}

	reading, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reading.Rollback() }()
	var seen, now int
	if err := reading.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM filler").Scan(&seen); err != nil {
		t.Fatal(err)
	}
	before := length()
	for length() < before+300 {
		fill(50)
	}
	if err := reading.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM filler").Scan(&now); err != nil || now != seen {
		t.Errorf("a reader saw %d rows and then %d: %v", seen, now, err)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	for within = time.Now().Add(time.Minute); !begunAnew(); {
		if time.Now().After(within) {
			t.Fatalf("after the reader has ended the log grows to %d pages", length())
		}
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if err := again.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM filler").Scan(&now); err != nil || now != n {
		t.Errorf("%d rows after %d commits: %v", now, n, err)
	}
}

// execTest commits a statement.
func execTest(t *testing.T, s *Store, text string) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx *Tx) error {
		_, err := tx.exec(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
