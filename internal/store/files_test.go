package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/store/sqlite"
)

// TestSQLiteFiles checks that nothing is acknowledged that goes to a deleted file, and that what healthy installations
// do to their files is no such thing.
func TestSQLiteFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "assay.db")
	if err := os.Symlink("real.db", path); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, f := range map[string]func(*sql.DB) error{
		"Nothing":    func(*sql.DB) error { return nil },
		"Connection": func(db *sql.DB) error { return db.PingContext(t.Context()) },
		"Checkpoint": func(db *sql.DB) error { return execute(t.Context(), db, "PRAGMA wal_checkpoint(TRUNCATE)") },
		"Vacuum":     func(db *sql.DB) error { return execute(t.Context(), db, "VACUUM") },
		"Copy":       func(db *sql.DB) error { return execute(t.Context(), db, "VACUUM INTO '"+path+".copy'") },
		"Migration":  func(*sql.DB) error { return schema.Migrate(t.Context(), path) },
		"SecondStore": func(*sql.DB) error {
			second, err := Open(t.Context(), path)
			if err != nil {
				return err
			}
			return errors.Join(second.ProbeWrite(t.Context()), second.Close())
		},
	} {
		db, err := sql.Open("sqlite", sqlite.DSN(path))
		if err == nil {
			err = errors.Join(f(db), db.Close(), s.ProbeWrite(t.Context()))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := os.Remove(filepath.Join(folder, "real.db")); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.ProbeWrite(t.Context()), s.Update(t.Context(), func(*Tx) error { return nil })} {
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.Unavailable || !errors.Is(err, sqlite.ErrFileLost) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("it cannot be read: %v", err)
	}
}

func execute(ctx context.Context, db *sql.DB, text string) error {
	_, err := db.ExecContext(ctx, text)
	return err
}
