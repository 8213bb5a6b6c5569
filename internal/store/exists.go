package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5/stdlib"
)

// Exists reports whether the target holds a database of this program. It changes and creates nothing.
func Exists(ctx context.Context, target string) (exists bool, err error) {
	db, text, err := peek(target)
	if db == nil || err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var n int
	if err := db.QueryRowContext(ctx, text).Scan(&n); err != nil {
		return false, Classify(err)
	}
	return n > 0, nil
}

// Untouched reports whether nobody has used the database yet: whatever is done first leaves a row in one of the tables,
// and none of them is ever emptied.
func (q Queries) Untouched(ctx context.Context) (bool, error) {
	used, err := value[int64](ctx, q, "SELECT CAST(CASE WHEN EXISTS (SELECT 1 FROM accounts) "+
		"OR EXISTS (SELECT 1 FROM staff) OR EXISTS (SELECT 1 FROM catalog_versions) "+
		"OR EXISTS (SELECT 1 FROM staff_actions) OR EXISTS (SELECT 1 FROM staff_actions_head WHERE head <> '') "+
		"THEN 1 ELSE 0 END AS BIGINT)")
	return used == 0, err
}

// peek returns the database and the question whether it has a schema; nil: there is nothing.
func peek(target string) (db *sql.DB, question string, err error) {
	if IsPostgres(target) {
		config, err := parsePostgres(target)
		if err != nil {
			return nil, "", err
		}
		return stdlib.OpenDB(*config), "SELECT COUNT(*) FROM information_schema.tables " +
			"WHERE table_schema = current_schema() AND table_name = 'goose_db_version'", nil
	}
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil || info.Size() == 0 {
		return nil, "", err
	}
	db, err = sql.Open("sqlite", readOnlyDSN(target, false))
	return db, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version'", err
}

// readOnlyDSN opens a SQLite file that is not to be changed. An immutable one is on a disk where nothing can be
// written: SQLite then needs no files beside it, and does not look for a journal.
func readOnlyDSN(path string, immutable bool) string {
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
	if immutable {
		q.Set("immutable", "1")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}
