package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/pressly/goose/v3/database"
)

// ErrNotEmpty is returned when a dump should be loaded into a database that holds something.
var ErrNotEmpty = errors.New("the database is not empty: restore into a new one")

// CanLoad returns nil when a dump of the schema version can be loaded into the database: it does not exist or holds nothing,
// and its schema is not newer than the dump's. It returns ErrNotEmpty or ErrNewerDump otherwise.
func CanLoad(ctx context.Context, target string, schema int64) (err error) {
	known, err := newestVersion()
	if err != nil {
		return err
	}
	if schema > known {
		return ErrNewerDump
	}
	if !IsPostgres(target) {
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	l, err := openLoader(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.db.Close()) }()
	version, err := l.version(ctx)
	if err != nil {
		return err
	}
	if version > schema {
		return fmt.Errorf("%w: its schema (version %d) is newer than that of the backup (version %d)", ErrNotEmpty, version, schema)
	}
	tables, err := schemaAt(ctx, version)
	if err != nil {
		return err
	}
	return checkEmpty(ctx, l.db.QueryRowContext, tables)
}

// Load fills an empty database with a dump of either engine, all of it or nothing, and then brings its schema up to date.
// A dump of an older schema is loaded into that schema first, so that it takes the same way as a database that was there
// when the program was upgraded. It returns ErrNotEmpty or ErrNewerDump when it must not.
func Load(ctx context.Context, target string, dump io.Reader) (header *DumpHeader, err error) {
	d, err := readDump(dump)
	if err != nil {
		return nil, err
	}
	if err := CanLoad(ctx, target, d.header.Schema); err != nil {
		return nil, err
	}
	l, err := openLoader(target)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.db.Close()) }()
	if err := l.migrate(ctx, d.header.Schema); err != nil {
		return nil, err
	}
	tables, err := schemaAt(ctx, d.header.Schema)
	if err != nil {
		return nil, err
	}
	if err := d.matches(tables); err != nil {
		return nil, err
	}
	if err := l.fill(ctx, d, tables); err != nil {
		return nil, fmt.Errorf("load the database: %w", err)
	}
	if err := l.migrate(ctx, newest); err != nil {
		return nil, err
	}
	return &d.header, l.analyze(ctx)
}

// matches holds that the dump has the tables and columns of its schema version, no more and no less.
func (d *dumpReader) matches(tables []table) error {
	if len(d.header.Tables) != len(tables) {
		return fmt.Errorf("the dump has %d tables, its schema version %d has %d", len(d.header.Tables), d.header.Schema, len(tables))
	}
	for i := range tables {
		t, given := &tables[i], &d.header.Tables[i]
		if given.Name != t.name || !slices.EqualFunc(given.Columns, t.columns, func(name string, c column) bool { return name == c.name }) {
			return fmt.Errorf("table %s of the dump is not as schema version %d has it", given.Name, d.header.Schema)
		}
	}
	return nil
}

// loader is a database that is about to be filled, on one connection of its own.
type loader struct {
	target string
	db     *sql.DB
}

func openLoader(target string) (*loader, error) {
	l := &loader{target: target}
	var err error
	if IsPostgres(target) {
		if l.db, err = sql.Open("pgx", target); err != nil {
			return nil, errors.New("the PostgreSQL URL cannot be read") // the cause may hold the password
		}
		return l, nil
	}
	if err := createPrivate(target); err != nil {
		return nil, err
	}
	// References are checked once, when all rows are there.
	l.db, err = sql.Open("sqlite", sqliteDSN(target, "foreign_keys(0)")+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	l.db.SetMaxOpenConns(1)
	return l, nil
}

// version returns the schema version; 0 for a database without one.
func (l *loader) version(ctx context.Context) (int64, error) {
	d := database.DialectSQLite3
	if IsPostgres(l.target) {
		d = database.DialectPostgres
	}
	p, err := migrator(l.db, d)
	if err != nil {
		return 0, err
	}
	return p.GetDBVersion(ctx)
}

func (l *loader) migrate(ctx context.Context, to int64) error {
	if IsPostgres(l.target) {
		return migratePostgres(ctx, l.db, to)
	}
	return migrateSQLite(ctx, l.target, to)
}

// analyze tells PostgreSQL's planner how large the tables are now. It would find out by itself, some slow minutes later.
func (l *loader) analyze(ctx context.Context) error {
	if !IsPostgres(l.target) {
		return nil
	}
	_, err := l.db.ExecContext(ctx, "ANALYZE")
	return wrap(err)
}

// checkEmpty returns ErrNotEmpty when a table has more rows than the migrations have put there.
func checkEmpty(ctx context.Context, query func(context.Context, string, ...any) *sql.Row, tables []table) error {
	for i := range tables {
		t := &tables[i]
		var n int64
		if err := query(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+t.quoted()+" LIMIT $1) AS found", t.initial+1).Scan(&n); err != nil {
			return wrap(err)
		}
		if n > t.initial {
			return fmt.Errorf("%w: table %s has rows", ErrNotEmpty, t.name)
		}
	}
	return nil
}
