package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"
)

func openTestConn(t *testing.T, pragmas ...string) *sqliteConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a database?.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openConn(sqliteURI(path), sqlitePragmas(pragmas...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// one reads the only row of a statement.
func (c *sqliteConn) one(text string, args []any, take func(*record)) error {
	r := new(record)
	return errors.Join(c.records(context.Background(), text, args, r, func() error {
		take(r)
		return nil
	}), r.err)
}

// TestSQLiteConn checks that values pass a direct connection as they are.
func TestSQLiteConn(t *testing.T) {
	c := openTestConn(t)
	long := strings.Repeat("長い", 10_000)
	for _, text := range []string{"", "a", "日本", long, "again, after a long one"} {
		if err := c.one("SELECT $2, $1, $2, $3, $4, $5", []any{text, int64(-7), nil, "", 9}, func(r *record) {
			if got := r.text(1); got != text || r.integer(0) != -7 || r.integer(2) != -7 {
				t.Errorf("got %q and %d", got, r.integer(0))
			}
			if !r.null(3) || r.text(3) != "" || r.textOrNil(3) != nil || r.integer(3) != 0 || r.timeOrNil(3) != nil {
				t.Error("NULL is something")
			}
			if empty := r.textOrNil(4); empty == nil || *empty != "" || r.integer(5) != 9 {
				t.Errorf("got %v and %d", empty, r.integer(5))
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSQLiteConn_Errors checks that what cannot be read is an error, and that the connection stays usable.
func TestSQLiteConn_Errors(t *testing.T) {
	c := openTestConn(t, "query_only(1)")
	ignore := func(*record) {}
	for name, tt := range map[string]struct {
		text string
		args []any
		take func(*record)
		code int
	}{
		"Syntax":  {"SELECT nothing FROM nowhere", nil, ignore, sqlite3.SQLITE_ERROR},
		"Write":   {"DELETE FROM orders", nil, ignore, sqlite3.SQLITE_READONLY},
		"Missing": {"SELECT $1, $2", []any{"a"}, ignore, 0},
		"Type":    {"SELECT $1", []any{1.5}, ignore, 0},
		"Number":  {"SELECT 'a'", nil, func(r *record) { r.integer(0) }, 0},
		"Text":    {"SELECT 1", nil, func(r *record) { r.text(0) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.one(tt.text, tt.args, tt.take)
			if err == nil {
				t.Fatal("it is no error")
			}
			if coded, ok := errors.AsType[sqliteError](err); tt.code != 0 && (!ok || coded.Code()&0xff != tt.code) {
				t.Errorf("the error is %v", err)
			}
			if err := c.one("SELECT 1", nil, func(r *record) { r.integer(0) }); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
	if _, err := openConn("file:"+filepath.Join(t.TempDir(), "none", "assay.db"), nil); err == nil {
		t.Error("a file that cannot be there is opened")
	}
}

// TestSQLiteConn_Statements checks that a connection keeps a bounded number of statements.
func TestSQLiteConn_Statements(t *testing.T) {
	c := openTestConn(t)
	for i := range 3 * maxDirect {
		text := "SELECT 1" + strings.Repeat(" ", i)
		if err := c.one(text, nil, func(*record) {}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.byText); n > maxDirect {
		t.Errorf("it keeps %d statements", n)
	}
}
