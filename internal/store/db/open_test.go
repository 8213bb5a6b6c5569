package db

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/assayhq/assay/internal/store/sqlite"
	"github.com/assayhq/assay/internal/testkit/must"
)

// openTest opens a SQLite database with a table, which is closed at the end of the test.
func openTest(t *testing.T) *DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a database?.db")
	made, err := sql.Open("sqlite", sqlite.DSN(path))
	if err != nil {
		t.Fatal(err)
	}
	_, err = made.ExecContext(t.Context(), "CREATE TABLE numbers (n BIGINT NOT NULL); INSERT INTO numbers VALUES (1)")
	if err := errors.Join(err, made.Close()); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	must.CloseLater(t, d)
	return d
}
