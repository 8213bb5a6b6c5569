// Package rawsql reads and changes databases without the store: for tests of what is stored, and of how the program
// handles other data.
package rawsql

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/assayhq/assay/internal/testkit/must"
)

// Exec runs one statement. The target is a PostgreSQL URL or the path of a SQLite file.
func Exec(t testing.TB, target, statement string) {
	t.Helper()
	db := open(t, target)
	defer shut(t, db)
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Rows reads every row of a query as text; NULL is "<null>".
func Rows(t testing.TB, target, query string, args ...any) [][]string {
	t.Helper()
	db := open(t, target)
	defer shut(t, db)
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = "<null>"
			if v.Valid {
				row[i] = v.String
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// AwaitLock waits until so many transactions in PostgreSQL wait for others.
func AwaitLock(t testing.TB, target string, transactions int) {
	t.Helper()
	const waiting = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	must.Eventually(t, time.Minute, fmt.Sprintf("%d transactions wait for a lock", transactions), func() bool {
		return len(Rows(t, target, waiting)) >= transactions
	})
}

func open(t testing.TB, target string) *sql.DB {
	t.Helper()
	db, err := connect(target)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func connect(target string) (*sql.DB, error) {
	driver, source := "sqlite", target+"?_pragma=busy_timeout(10000)" // the program may be writing
	if strings.HasPrefix(target, "postgres://") {
		driver, source = "pgx", target
	}
	return sql.Open(driver, source)
}

func shut(t testing.TB, db *sql.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
