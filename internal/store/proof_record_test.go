package store_test

import (
	"database/sql"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestIntegrity_Dropped: a partition that housekeeping drops before it is read, and its indexes, are no problem.
func TestIntegrity_Dropped(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]string{
		"Tables": "SELECT 1",
		"Indexes": `DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck')
			THEN CREATE EXTENSION amcheck; END IF; END $$`,
	} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.Database(t)
			s := storetest.Open(t, target)
			rawsql.Exec(t, target, prepare)
			part := rawsql.Rows(t, target, `SELECT inhrelid::regclass::text FROM pg_inherits
				WHERE inhparent = 'request_log'::regclass ORDER BY 1`)[0][0]
			pool, err := sql.Open("pgx", target)
			must.NoError(t, err)
			defer func() { must.NoError(t, pool.Close()) }()
			tx, err := pool.BeginTx(t.Context(), nil)
			must.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), "LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE")
			must.NoError(t, err)
			checked, dropped := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := s.Integrity(t.Context(), true, func(where, message string) { t.Error(where, message) })
				checked <- err
			}()
			rawsql.AwaitLock(t, target, 1) // the names are known, and an early table is read
			go func() { dropped <- rawsql.Run(t.Context(), target, "DROP TABLE "+part) }()
			rawsql.AwaitLock(t, target, 2)
			must.NoError(t, tx.Commit())
			must.NoError(t, <-dropped)
			must.NoError(t, <-checked)
		})
	}
}
