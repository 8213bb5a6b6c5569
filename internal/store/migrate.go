package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
	"golang.org/x/sys/unix"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrations are the embedded ones; tests of upgrades add to them.
var migrations fs.FS = embedded

// ErrNewerDatabase is returned for a database that a later version of the program has changed.
var ErrNewerDatabase = errors.New("the database was written by a newer version of this program: install that version or restore a backup made before the upgrade")

// newest is the schema version to go to where all migrations shall run.
const newest = math.MaxInt64

// migratePostgres brings the schema up to a version under a session lock, so that several nodes may start at once.
func migratePostgres(ctx context.Context, db *sql.DB, to int64) error {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	return migrate(ctx, db, database.DialectPostgres, to, goose.WithSessionLocker(locker))
}

// migrateSQLite does the same through a connection of its own, under a lock on the database file: a command may run
// while the server starts.
func migrateSQLite(ctx context.Context, path string, to int64) (err error) {
	f, err := os.OpenFile(filepath.Clean(path)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil { // released when the file is closed
		return fmt.Errorf("lock the schema: %w", err)
	}
	db, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return migrate(ctx, db, database.DialectSQLite3, to)
}

func migrate(ctx context.Context, db *sql.DB, d database.Dialect, to int64, options ...goose.ProviderOption) error {
	p, err := migrator(db, d, options...)
	if err != nil {
		return err
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	switch {
	case current > target:
		return ErrNewerDatabase
	case current >= min(to, target):
		return nil
	}
	if _, err := p.UpTo(ctx, to); err != nil {
		return fmt.Errorf("bring schema up to date: %w", err)
	}
	return nil
}

func migrator(db *sql.DB, d database.Dialect, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(d, db, files, options...)
}
