package schema_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// expandAccounts is what the next release may do, contractAccounts what the one after it may.
const (
	expandAccounts = `-- +goose Up
CREATE TABLE mottos (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id));
ALTER TABLE accounts ADD COLUMN motto TEXT NOT NULL DEFAULT 'none';
`
	contractAccounts = `-- +goose Up
DROP TABLE verdict_drafts;
UPDATE schema_support SET oldest = 90000;
`
)

// TestRollingUpgrade runs the former program beside the next one, which has added to the schema, and starts it again.
// The program after the next, which takes something away, works beside the next one only.
func TestRollingUpgrade(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		former := shop.New(t, target)
		t.Run("Next", func(t *testing.T) {
			schema.AddMigration(t, "90000_expand.sql", expandAccounts)
			if _, err := store.OpenToCheck(t.Context(), target); !errors.Is(err, schema.ErrOlderDatabase) {
				t.Errorf("a check opens what it would have to change: %v", err)
			}
			var nodes sync.WaitGroup
			for range 3 { // nodes that are started at once
				nodes.Go(func() {
					s, err := store.Open(t.Context(), target)
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			nodes.Wait()
			former.Trade(t)
			next := shop.Open(t, target, t.TempDir())
			(&shop.Shop{Installation: next}).Order(t, former.Test, order.MockFake)
			wantSchema(t, target, false)
		})
		t.Run("FormerAgain", func(t *testing.T) {
			again := shop.Open(t, target, t.TempDir())
			(&shop.Shop{Installation: again}).Order(t, former.Test, order.MockAuthentic)
			wantSchema(t, target, true)
		})
		t.Run("AfterNext", func(t *testing.T) {
			schema.AddMigration(t, "90000_expand.sql", expandAccounts)
			schema.AddMigration(t, "90001_contract.sql", contractAccounts)
			storetest.Open(t, target)
		})
		t.Run("NextIsBesideIt", func(t *testing.T) {
			schema.AddMigration(t, "90000_expand.sql", expandAccounts)
			storetest.Open(t, target)
		})
		if _, err := store.Open(t.Context(), target); !errors.Is(err, schema.ErrNewerDatabase) {
			t.Errorf("the former program starts on a schema without what it uses: %v", err)
		}
		if _, err := store.OpenToCheck(t.Context(), target); !errors.Is(err, schema.ErrNewerDatabase) {
			t.Errorf("the former program checks a schema without what it uses: %v", err)
		}
	})
}

// TestMigrate_LongReader: a migration that waits for a table which somebody reads, a backup say, keeps nobody else from
// it, and is done when they have ended.
func TestMigrate_LongReader(t *testing.T) {
	target := pgtest.Database(t)
	former := shop.New(t, target)
	id := former.Order(t, former.Test, order.MockFake)
	pool, err := sql.Open("pgx", target)
	must.NoError(t, err)
	t.Cleanup(func() { must.NoError(t, pool.Close()) })
	reader, err := pool.BeginTx(t.Context(), nil)
	must.NoError(t, err)
	_, err = reader.ExecContext(t.Context(), "SELECT COUNT(*) FROM orders")
	must.NoError(t, err)

	schema.AddMigration(t, "90000_expand.sql", "-- +goose Up\nALTER TABLE orders ADD COLUMN motto TEXT;\n")
	waits, migrated := make(chan string, 10), make(chan error, 1)
	ctx := progress.With(t.Context(), func(what string, _ progress.Unit, _ int64) func(int64) {
		waits <- what
		return func(int64) {}
	})
	go func() { migrated <- schema.Migrate(ctx, target) }()
	for what := range waits {
		if strings.HasPrefix(what, "waiting for tables that are read for long: process ") {
			break
		}
	}
	_, err = former.Store.Order(t.Context(), id)
	must.NoError(t, err)
	former.Order(t, former.Test, order.MockAuthentic)
	select {
	case err := <-migrated:
		t.Errorf("the migration has ended while the table was read: %v", err)
	default:
	}
	must.NoError(t, reader.Rollback())
	must.NoError(t, <-migrated)
	wantSchema(t, target, false)
}

// wantSchema checks that nothing is missing of the schema, which is said not to be compared where it is a newer one.
func wantSchema(t *testing.T, target string, newer bool) {
	t.Helper()
	s, err := store.OpenToCheck(t.Context(), target)
	must.NoError(t, err)
	note, err := s.SchemaProblems(t.Context(), func(object, message string) { t.Errorf("%s: %s", object, message) })
	if err != nil || (note != "") != newer {
		t.Errorf("%q, %v", note, err)
	}
	must.NoError(t, s.Close())
}
