package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrNewerDatabase is returned for a database that a later version of the program has changed.
var ErrNewerDatabase = errors.New("the database was written by a newer version of this program: install that version or restore a backup made before the upgrade")

// migrate brings the schema up to date, forward only, under a lock so that several nodes may start at once.
func migrate(ctx context.Context, db *sql.DB, d *dialect) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	var options []goose.ProviderOption
	dialect := database.DialectSQLite3
	if d == &postgresDialect {
		dialect = database.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return err
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if current > target {
		return ErrNewerDatabase
	}
	if current == target {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring schema up to date: %w", err)
	}
	return nil
}
