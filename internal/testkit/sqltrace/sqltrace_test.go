package sqltrace_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/sqltrace"
)

// TestLoop records transactions of SQLite and repeats one: what was unique is made anew, also where it was looked up
// before, what others refer to stays.
func TestLoop(t *testing.T) {
	var trace bytes.Buffer
	must.NoError(t, sqltrace.RecordSQLite(&trace))
	path := filepath.Join(t.TempDir(), "a.db")
	rawsql.Exec(t, path, "CREATE TABLE photos (name TEXT PRIMARY KEY)")
	rawsql.Exec(t, path, "INSERT INTO photos VALUES ('photo-of-a-bag'), ('it''s $1 of it')")
	rawsql.Exec(t, path, `CREATE TABLE orders (id TEXT PRIMARY KEY, seq BIGINT UNIQUE, price BIGINT, note TEXT,
		photo TEXT REFERENCES photos (name), facts TEXT)`)
	db, err := sql.Open("sqlite", path)
	must.NoError(t, err)
	db.SetMaxOpenConns(1)
	for i, photo := range []string{"photo-of-a-bag", "it's $1 of it", "photo-of-a-bag", "it's $1 of it"} {
		id := "01a1e029-938b-7a32-bd4b-" + strings.Repeat(string(rune('a'+i)), 12)
		look, err := db.BeginTx(t.Context(), nil) // as reads of a program that gathers them
		must.NoError(t, err)
		var found int
		must.NoError(t, look.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders WHERE id = $1", id).Scan(&found))
		must.NoError(t, look.Commit())
		tx, err := db.BeginTx(t.Context(), nil)
		must.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6)", id, i+1, 5, nil, photo,
			`{"id":"`+id+`","price":5}`)
		must.NoError(t, err)
		must.NoError(t, tx.Commit())
	}
	must.NoError(t, db.Close())

	recorded, err := sqltrace.ReadSQLite(&trace)
	must.NoError(t, err)
	if len(recorded) != 4 {
		t.Fatalf("%d transactions were recorded, want 4", len(recorded))
	}
	replay, err := sqltrace.NewReplay(recorded[0], recorded[1], recorded)
	must.NoError(t, err)
	loop, err := sqltrace.NewLoop(t.Context(), path, replay)
	must.NoError(t, err)
	turns, err := loop.Run(t.Context(), 50*time.Millisecond)
	must.NoError(t, err)
	must.NoError(t, loop.Close())
	if turns == 0 {
		t.Fatal("nothing was repeated")
	}
	rows := rawsql.Rows(t, path, `SELECT id, photo, price, facts FROM orders WHERE seq > 4`)
	if len(rows) != turns {
		t.Errorf("%d orders are stored, want %d", len(rows), turns)
	}
	for _, row := range rows {
		if len(row[0]) != 36 || row[1] != "photo-of-a-bag" || row[2] != "5" || row[3] != `{"id":"`+row[0]+`","price":5}` {
			t.Errorf("an order is %q", row)
		}
	}
}

const postgresLog = `71|LOG:  execute stmtcache_1: begin
72|LOG:  execute stmtcache_9: SELECT 1
71|LOG:  execute stmtcache_2: INSERT INTO orders
	VALUES ($1, $2, $3)
71|DETAIL:  parameters: $1 = 'order-000000000001', $2 = '17', $3 = 'it''s 5:30'
71|LOG:  execute stmtcache_3: commit
71|LOG:  execute stmtcache_1: begin
71|LOG:  execute stmtcache_2: INSERT INTO orders
	VALUES ($1, $2, $3)
71|DETAIL:  parameters: $1 = 'order-000000000002', $2 = '18', $3 = 'it''s 5:30'
71|LOG:  execute stmtcache_3: commit
`

// TestScript makes a script of pgbench from a log of PostgreSQL.
func TestScript(t *testing.T) {
	recorded, err := sqltrace.ReadPostgres(postgresLog)
	must.NoError(t, err)
	if len(recorded) != 3 {
		t.Fatalf("%d transactions were logged, want 3", len(recorded))
	}
	replay, err := sqltrace.NewReplay(recorded[0], recorded[1], recorded[:2])
	must.NoError(t, err)
	got, err := sqltrace.Script([]*sqltrace.Replay{replay})
	must.NoError(t, err)
	const want = "begin;\nINSERT INTO orders VALUES " +
		"((E'order-' || right(lpad(to_hex(CAST(:n AS BIGINT) * 4096 + 0), 16, '0'), 12)), " +
		"(17 + CAST(:n AS BIGINT) * 1000), E'it''s 5\\x3a30');\ncommit;\n"
	if got != want {
		t.Errorf("the script is\n%swant\n%s", got, want)
	}
}

// TestScript_Choice has transactions that differ in a number, which the log has quoted, and in a text.
func TestScript_Choice(t *testing.T) {
	replays := make([]*sqltrace.Replay, 2)
	for i := range replays {
		const begin = "71|LOG:  execute a: begin\n71|LOG:  execute b: INSERT INTO keys VALUES ($1, $2)\n"
		recorded, err := sqltrace.ReadPostgres(begin + fmt.Sprintf(
			"71|DETAIL:  parameters: $1 = '%d', $2 = 'account %d'\n71|LOG:  execute c: commit\n", 7+i, i))
		must.NoError(t, err)
		replays[i], err = sqltrace.NewReplay(recorded[0], recorded[0], recorded[:1])
		must.NoError(t, err)
	}
	got, err := sqltrace.Script(replays)
	must.NoError(t, err)
	const want = "CASE CAST(:a AS BIGINT) WHEN 1 THEN 7 WHEN 2 THEN 8 END, " +
		"CASE CAST(:a AS BIGINT) WHEN 1 THEN E'account 0' WHEN 2 THEN E'account 1' END"
	if !strings.Contains(got, want) {
		t.Errorf("the script is\n%swant\n%s", got, want)
	}
}
