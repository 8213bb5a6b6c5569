package sqlite

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// newFile returns an empty database.
func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a database?.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, pragmas ...string) *Conn {
	t.Helper()
	c, err := Open(URI(path), Pragmas(pragmas...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func exec(t *testing.T, c *Conn, text string) {
	t.Helper()
	if err := c.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// count returns the number in the only row of a statement.
func count(t *testing.T, c *Conn, text string) int64 {
	t.Helper()
	s, err := c.Query(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Reset()
	if more, err := s.Step(); err != nil || !more {
		t.Fatalf("%s: %t, %v", text, more, err)
	}
	return s.Value(0).Integer()
}

// TestCheckpointer checks that pages leave the log while there are commits, so that the log stays short, that one who
// reads for long only delays that, and that the database is whole.
func TestCheckpointer(t *testing.T) {
	path := newFile(t)
	writer := open(t, path, NoAutoCheckpoint)
	log, err := NewCheckpointer(path)
	if err != nil {
		t.Fatal(err)
	}
	log.begin = 80
	ended := make(chan struct{})
	log.Start(ended)
	exec(t, writer, "CREATE TABLE filler (id BIGINT PRIMARY KEY, filler TEXT NOT NULL)")
	n := int64(0)
	fill := func(pages int) {
		t.Helper()
		for range pages {
			n++
			exec(t, writer, "INSERT INTO filler VALUES ("+strconv.FormatInt(n, 10)+", '"+strings.Repeat("x", 4000)+"')")
			log.Committed(writer)
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
	untilBegunAnew := func() {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; {
			before := length()
			if fill(50); length() == before {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("after %d commits the log has %d pages", n, length())
			}
		}
	}
	untilBegunAnew()

	reader := open(t, path, "query_only(1)")
	exec(t, reader, "BEGIN")
	seen := count(t, reader, "SELECT COUNT(*) FROM filler")
	for before := length(); length() < before+300; {
		fill(50)
	}
	if now := count(t, reader, "SELECT COUNT(*) FROM filler"); now != seen {
		t.Errorf("a reader saw %d rows and then %d", seen, now)
	}
	exec(t, reader, "COMMIT")
	untilBegunAnew()

	close(ended)
	for _, err := range []error{log.Wait(), writer.Close(), reader.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	again := open(t, path)
	if got := count(t, again, "SELECT COUNT(*) FROM filler"); got != n {
		t.Errorf("%d rows after %d commits", got, n)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
