package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/sqlite"
)

// ErrNoVersion is returned for a database that has tables of this program, or such as are called like them, and no
// schema version: it can be neither used nor filled.
var ErrNoVersion = errors.New("the database has tables of an installation, or of another program, " +
	"and no schema version (in the table " + VersionTable + "): put that back from a copy of the database, " +
	"or use an empty database")

// VersionTable is where the migrations that have run are kept.
const VersionTable = "goose_db_version"

// Exists reports whether the target holds a database of this program. It changes and creates nothing.
func Exists(ctx context.Context, target string) (exists bool, err error) {
	pool, err := peek(target)
	if pool == nil || err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	versions, err := hasVersions(ctx, pool, db.IsPostgres(target))
	if err != nil && !db.IsPostgres(target) { // PostgreSQL says itself where it is
		err = fmt.Errorf("%s: %w", target, err)
	}
	return versions, db.Classify(err)
}

// hasVersions reports whether a database has the table of schema versions. It returns ErrNoVersion where that tells of
// none and other tables of the schema are there.
func hasVersions(ctx context.Context, pool *sql.DB, postgres bool) (versions bool, err error) {
	text := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if postgres {
		text = "SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = current_schema()"
	}
	ours, err := schemaTables()
	if err != nil {
		return false, err
	}
	found, err := pool.QueryContext(ctx, text)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	tables := false
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return false, err
		}
		versions = versions || name == VersionTable
		tables = tables || ours[name]
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil || !tables {
		return versions, err
	}
	// The tables are looked at first: a node that begins at this moment makes them together with their version.
	version := int64(0)
	if versions {
		err = pool.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+VersionTable).Scan(&version)
	}
	if err == nil && version == 0 {
		err = ErrNoVersion
	}
	return versions, err
}

var createTable = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// schemaTables returns the names of the tables that migrations make.
func schemaTables() (map[string]bool, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	names := make(map[string]bool)
	for _, file := range files {
		content, err := fs.ReadFile(migrations, file)
		if err != nil {
			return nil, err
		}
		for _, found := range createTable.FindAllSubmatch(content, -1) {
			names[string(found[1])] = true
		}
	}
	return names, err
}

// peek opens the database to look at it; nil: there is nothing.
func peek(target string) (*sql.DB, error) {
	if db.IsPostgres(target) {
		config, err := db.ParsePostgres(target)
		if err != nil {
			return nil, err
		}
		return stdlib.OpenDB(*config), nil
	}
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	return sql.Open("sqlite", lookDSN(target))
}

// lookDSN opens a SQLite file that is not to be changed. SQLite needs files beside it to read it, and only a connection
// that could write takes them away again. Where there is a log already, such a one would write it into the database.
func lookDSN(path string) string {
	mode := "rw"
	if _, err := os.Stat(path + "-wal"); err == nil {
		mode = "ro"
	}
	q := url.Values{"mode": {mode}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
	return sqlite.URI(path) + "?" + q.Encode()
}
