package schema_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store/dump"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestLoad_OlderSchema loads what an older program has written: the rows are migrated as in an upgrade.
func TestLoad_OlderSchema(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, storetest.SQLite(t))
		s.Trade(t)
		old := storetest.Dump(t, s.Store)
		schema.AddMigration(t, "90000_later.sql", `-- +goose Up
CREATE TABLE later (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), n BIGINT);
INSERT INTO later (id, account_id, n) SELECT 'of ' || name, id, NULL FROM accounts;
ALTER TABLE accounts ADD COLUMN motto TEXT NOT NULL DEFAULT 'none';
`)
		if _, err := dump.Load(t.Context(), target, bytes.NewReader(old)); err != nil {
			t.Fatal(err)
		}
		copied := storetest.Open(t, target)
		got := string(storetest.Dump(t, copied))
		for _, want := range []string{`"schema_version":90000`, `"motto"`, `["of Acme 鑑定","` + s.Account.ID + `",null]`} {
			if !strings.Contains(got, want) {
				t.Errorf("the upgraded copy lacks %s", want)
			}
		}
		t.Run("OpenedByTheNewerProgram", func(t *testing.T) {
			empty := storetest.SQLite(t)
			storetest.Open(t, empty)
			if _, err := dump.Load(t.Context(), empty, bytes.NewReader(old)); !errors.Is(err, dump.ErrNotEmpty) {
				t.Errorf("got %v, want ErrNotEmpty: the schema cannot go back", err)
			}
		})
		t.Run("NotYetUpgraded", func(t *testing.T) {
			// The schema of the database counts, not the program's.
			if _, err := dump.Write(t.Context(), s.Store, io.Discard, time.Now()); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestMigrate_SQLiteOnly checks that a comment for SQLite is part of its schema, and a comment to PostgreSQL.
func TestMigrate_SQLiteOnly(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		schema.AddMigration(t, "90000_later.sql", `-- +goose Up
CREATE TABLE later (id TEXT PRIMARY KEY) /* SQLite: WITHOUT ROWID */;
`)
		d, err := schema.OpenDatabase(target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		if err := d.Migrate(t.Context(), schema.Newest); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ExecContext(t.Context(), "INSERT INTO later (id) VALUES ('a')"); err != nil {
			t.Error(err)
		}
		if d.Postgres() {
			return
		}
		_, err = d.ExecContext(t.Context(), "SELECT rowid FROM later")
		if err == nil || !strings.Contains(err.Error(), "no such column: rowid") {
			t.Errorf("got %v, want a table without rowid", err)
		}
	})
}
