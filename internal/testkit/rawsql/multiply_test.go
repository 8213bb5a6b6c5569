package rawsql_test

import (
	"path/filepath"
	"testing"

	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
)

func TestMultiply(t *testing.T) {
	targets := map[string]func(testing.TB) string{
		"SQLite":     func(t testing.TB) string { return filepath.Join(t.TempDir(), "a.db") },
		"PostgreSQL": pgtest.Database,
	}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			target := target(t)
			rawsql.Exec(t, target, "CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT NOT NULL)")
			rawsql.Exec(t, target, "INSERT INTO things VALUES (1, 'a'), (2, 'b'), (1000, 'c')")
			if err := rawsql.Multiply(t.Context(), target, "things", "o.name <> 'c'", 3,
				map[string]string{"id": "o.id + 2 * n"}); err != nil {
				t.Fatal(err)
			}
			rawsql.Exec(t, target, "DELETE FROM things WHERE id = 1000") // the only one that was not copied
			// Fails unless there are eight rows with the ids 1 to 8, four of each name.
			rawsql.Exec(t, target, "CREATE TABLE proof (n BIGINT CHECK (n = 36), names BIGINT CHECK (names = 4))")
			rawsql.Exec(t, target, "INSERT INTO proof SELECT SUM(id), SUM(CASE WHEN name = 'a' THEN 1 ELSE 0 END) FROM things")
		})
	}
}
