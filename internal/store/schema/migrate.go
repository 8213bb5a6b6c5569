// Package schema makes the tables by migrations, tells the version of a database and compares what it finds there with
// what the migrations make.
package schema

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/partition"
	"github.com/assayhq/assay/internal/store/plain"
	"github.com/assayhq/assay/internal/store/sqlite"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrations are the embedded ones; tests of upgrades add to them.
var migrations fs.FS = embedded

// ErrNewerDatabase is returned for a database that a later version of the program has changed so that this one cannot
// use it.
var ErrNewerDatabase = errors.New("the database was written by a newer version of this program: " +
	"use that version. Only to go back to this one, restore a backup made before the upgrade")

// ErrOlderDatabase is returned for a database that would have to be brought up to date first.
var ErrOlderDatabase = errors.New("the schema of the database is that of an older version of this program: " +
	"assay serve brings it up to date")

// Check returns ErrOlderDatabase or ErrNewerDatabase where the program cannot work with the schema as it is.
func Check(ctx context.Context, d *db.DB) error {
	newest, err := NewestVersion()
	if err != nil {
		return err
	}
	current, err := version(ctx, d.Queries)
	switch {
	case err != nil:
		return err
	case current < newest:
		return ErrOlderDatabase
	case current > newest:
		return supports(ctx, d.SQL(), newest)
	}
	return nil
}

func version(ctx context.Context, q db.Queries) (int64, error) {
	return db.Value[int64](ctx, q, "SELECT COALESCE(MAX(version_id), 0) FROM "+VersionTable)
}

// Newest is the schema version to migrate to when all migrations should run.
const Newest = math.MaxInt64

// NewestVersion returns the schema version that the program works with.
func NewestVersion() (int64, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, f := range files {
		v, err := goose.NumericComponent(f)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// Database is a database of any schema version, or an empty one. Open returns one that is up to date.
type Database struct {
	*sql.DB
	target string
}

// OpenDatabase connects to a database without looking at its schema, for a program that fills it. On SQLite foreign
// keys are not enforced, and there is one connection.
func OpenDatabase(target string) (*Database, error) {
	if db.IsPostgres(target) {
		config, err := db.ParsePostgres(target)
		if err != nil {
			return nil, err
		}
		return &Database{stdlib.OpenDB(*config), target}, nil
	}
	if err := db.CreatePrivate(target); err != nil {
		return nil, err
	}
	pool, err := sql.Open("sqlite", sqlite.DSN(target, "foreign_keys(0)")+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	return &Database{pool, target}, nil
}

// OpenMemory returns an empty SQLite database in memory with the schema of a version.
func OpenMemory(ctx context.Context, version int64) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1) // each connection would have its own memory
	if err := migrate(ctx, pool, database.DialectSQLite3, version); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

// Postgres reports whether this is a PostgreSQL database.
func (d *Database) Postgres() bool { return db.IsPostgres(d.target) }

// Version returns the schema version; 0 for a database without one.
func (d *Database) Version(ctx context.Context) (int64, error) {
	dialect := database.DialectSQLite3
	if d.Postgres() {
		dialect = database.DialectPostgres
	}
	p, err := migrator(d.DB, dialect)
	if err != nil {
		return 0, err
	}
	return p.GetDBVersion(ctx)
}

// Migrate brings the schema up to a version.
func (d *Database) Migrate(ctx context.Context, to int64) error {
	if d.Postgres() {
		return migratePostgres(ctx, d.target, to)
	}
	return migrateSQLite(ctx, d.target, to)
}

// Migrate brings the schema of a database up to date, and makes it where there is none.
func Migrate(ctx context.Context, target string) (err error) {
	d, err := OpenDatabase(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Migrate(ctx, Newest)
}

// Arrange puts rows where they belong after the database was filled: into the parts of partitioned tables.
func (d *Database) Arrange(ctx context.Context, now time.Time) error {
	if !d.Postgres() {
		return nil
	}
	return partition.Arrange(ctx, d.DB, now)
}

// Other nodes go on while one migrates. A migration waits for a table that somebody reads for longer, such as a backup,
// and everybody else waits behind it: so it waits only that long, and is tried again after a pause.
var migrationParameters = map[string]string{
	"lock_timeout":                        "500",   // milliseconds
	"idle_in_transaction_session_timeout": "60000", // of a node that stands still
}

const migrationPause = 3 * time.Second

// migratePostgres migrates under a session lock, so that several nodes may start at once.
func migratePostgres(ctx context.Context, target string, to int64) (err error) {
	config, err := db.ParsePostgres(target)
	if err != nil {
		return err
	}
	maps.Copy(config.RuntimeParams, migrationParameters)
	pool := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, pool.Close()) }()
	for told := false; ; told = true {
		err := migratePostgresOnce(ctx, pool, to)
		if !partition.Busy(err) {
			return err
		}
		if !told {
			progress.Step(ctx, "waiting for "+longReaders(ctx, pool))
		}
		if stopped := pause.For(ctx, migrationPause); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

func migratePostgresOnce(ctx context.Context, pool *sql.DB, to int64) error {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	if err := migrate(ctx, pool, database.DialectPostgres, to, goose.WithSessionLocker(locker)); err != nil {
		return err
	}
	return partition.SetUp(ctx, pool, time.Now())
}

// longReaders says which transactions hold up a migration: those that have run the longest.
func longReaders(ctx context.Context, pool *sql.DB) string {
	names, err := plain.Column[string](ctx, pool, `SELECT 'process ' || pid || ' ' || application_name || ' since '
			|| to_char(xact_start AT TIME ZONE 'UTC', 'HH24:MI:SS') || ' UTC'
		FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND xact_start < now() - interval '500 ms' ORDER BY xact_start LIMIT 3`)
	if err != nil || len(names) == 0 {
		return "tables that others use"
	}
	return "tables that are read for long: " + strings.Join(names, ", ")
}

// migrateSQLite migrates through its own connection, under a lock on the database file: a command may run while
// the server starts.
func migrateSQLite(ctx context.Context, path string, to int64) (err error) {
	f, err := os.OpenFile(filepath.Clean(path)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := host.Lock(f, true); err != nil { // released when the file is closed
		return fmt.Errorf("lock the schema: %w", err)
	}
	pool, err := sql.Open("sqlite", sqlite.DSN(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	return migrate(ctx, pool, database.DialectSQLite3, to)
}

func migrate(ctx context.Context, pool *sql.DB, d database.Dialect, to int64, options ...goose.ProviderOption) error {
	if _, err := hasVersions(ctx, pool, d == database.DialectPostgres); err != nil { // the first look would make the table
		return fmt.Errorf("read schema version: %w", err)
	}
	p, err := migrator(pool, d, options...)
	if err != nil {
		return err
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	switch {
	case current > target:
		return supports(ctx, pool, target)
	case current >= min(to, target):
		return nil
	}
	progress.Step(ctx, "bringing the schema up to date")
	if _, err := p.UpTo(ctx, to); err != nil {
		return fmt.Errorf("bring schema up to date: %w", err)
	}
	return nil
}

// supports returns ErrNewerDatabase when the program with the schema version cannot work on the newer schema that the
// database has. While nodes are upgraded one after the other, the former program goes on beside the new one: one
// that only adds leaves it be, and one that takes something away says from which version on programs do without it.
func supports(ctx context.Context, pool *sql.DB, version int64) error {
	var oldest int64
	if err := pool.QueryRowContext(ctx, "SELECT oldest FROM schema_support").Scan(&oldest); err != nil {
		return fmt.Errorf("read which programs the schema supports: %w", err)
	}
	if version < oldest {
		return ErrNewerDatabase
	}
	return nil
}

func migrator(pool *sql.DB, d database.Dialect, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	if d == database.DialectSQLite3 {
		files = forSQLite{files}
	}
	return goose.NewProvider(d, pool, files, options...)
}

// forSQLite are migrations with what they say to SQLite alone: the text of comments of the form /* SQLite: text */.
type forSQLite struct{ fs.FS }

var sqliteOnly = regexp.MustCompile(`/\* SQLite: (.*?) \*/`)

func (f forSQLite) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &migration{file, bytes.NewReader(sqliteOnly.ReplaceAll(text, []byte("$1")))}, nil
}

type migration struct {
	fs.File
	text io.Reader
}

func (m *migration) Read(p []byte) (int, error) { return m.text.Read(p) }
