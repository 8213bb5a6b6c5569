// Package rawsql changes databases behind the program's back, for tests of what the program then makes of them.
package rawsql

import (
	"database/sql"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// Exec runs one statement. The target is a PostgreSQL URL or the path of a SQLite file.
func Exec(t testing.TB, target, statement string) {
	t.Helper()
	driver := "sqlite"
	if strings.HasPrefix(target, "postgres://") {
		driver = "pgx"
	}
	db, err := sql.Open(driver, target)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
