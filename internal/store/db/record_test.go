package db

import (
	"errors"
	"strings"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/store/sqlite"
	"github.com/assayhq/assay/internal/testkit/must"
)

func openTestConn(t *testing.T, pragmas ...string) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.Open(sqlite.URI(openTest(t).path), sqlite.Pragmas(pragmas...))
	if err != nil {
		t.Fatal(err)
	}
	must.CloseLater(t, c)
	return c
}

// readOne reads the only row of a statement.
func readOne(c *sqlite.Conn, text string, args []any, take func(*Record)) error {
	r := new(Record)
	return errors.Join(readRecords(c, text, args, r, func() error {
		take(r)
		return nil
	}), r.err)
}

// TestRecord_SQLite checks that values pass a direct connection as they are.
func TestRecord_SQLite(t *testing.T) {
	c := openTestConn(t)
	long := strings.Repeat("長い", 10_000)
	for _, text := range []string{"", "a", "日本", long, "again, after a long one"} {
		if err := readOne(c, "SELECT $2, $1, $2, $3, $4, $5", []any{text, int64(-7), nil, "", 9}, func(r *Record) {
			if got := r.Text(1); got != text || r.Integer(0) != -7 || r.Integer(2) != -7 {
				t.Errorf("got %q and %d", got, r.Integer(0))
			}
			if a, b, c := r.Texts(1, 3, 4); a != text || b != "" || c != "" {
				t.Errorf("got %q, %q and %q", a, b, c)
			}
			if !r.Null(3) || r.Text(3) != "" || r.Integer(3) != 0 || r.TimeOrNil(3) != nil {
				t.Error("NULL is something")
			}
			if r.Null(4) || r.Text(4) != "" || r.Integer(5) != 9 {
				t.Errorf("got %q and %d", r.Text(4), r.Integer(5))
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecord_SQLite_Errors checks that what cannot be read is an error, and that the connection stays usable.
func TestRecord_SQLite_Errors(t *testing.T) {
	c := openTestConn(t, "query_only(1)")
	ignore := func(*Record) {}
	for name, tt := range map[string]struct {
		text string
		args []any
		take func(*Record)
		code int
	}{
		"Syntax":  {"SELECT nothing FROM nowhere", nil, ignore, sqlite3.SQLITE_ERROR},
		"Write":   {"DELETE FROM numbers", nil, ignore, sqlite3.SQLITE_READONLY},
		"Missing": {"SELECT $1, $2", []any{"a"}, ignore, 0},
		"Type":    {"SELECT $1", []any{1.5}, ignore, 0},
		"Number":  {"SELECT 'a'", nil, func(r *Record) { r.Integer(0) }, 0},
		"Text":    {"SELECT 1", nil, func(r *Record) { r.Text(0) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			err := readOne(c, tt.text, tt.args, tt.take)
			if err == nil {
				t.Fatal("it is no error")
			}
			if coded, ok := errors.AsType[sqlite.Error](err); tt.code != 0 && (!ok || coded.Code()&0xff != tt.code) {
				t.Errorf("the error is %v", err)
			}
			if err := readOne(c, "SELECT 1", nil, func(r *Record) { r.Integer(0) }); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
