package rawsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Bulk is a connection for filling a database quickly: it has the database for itself, and what it writes is safe only
// after Close.
type Bulk struct {
	db       *sql.DB
	conn     *sql.Conn
	postgres bool
}

// OpenBulk opens a database for filling.
func OpenBulk(ctx context.Context, target string) (*Bulk, error) {
	db, err := connect(target)
	if err != nil {
		return nil, err
	}
	b := &Bulk{db: db, postgres: strings.HasPrefix(target, "postgres://")}
	if b.conn, err = db.Conn(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	// No journal, no waiting for the disk, no checks of references.
	settings := "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; PRAGMA foreign_keys = 0"
	if b.postgres {
		settings = "SET session_replication_role = replica; SET maintenance_work_mem = '512MB'; SET synchronous_commit = off"
	}
	if err := b.Run(ctx, settings); err != nil {
		return nil, b.Close(ctx, err)
	}
	return b, nil
}

// Close makes the database durable again, and returns err or why that failed.
func (b *Bulk) Close(ctx context.Context, err error) error {
	if !b.postgres && err == nil {
		err = errors.Join(b.Run(ctx, "PRAGMA synchronous = FULL"), b.Run(ctx, "PRAGMA journal_mode = WAL"))
	}
	return errors.Join(err, b.conn.Close(), b.db.Close())
}

// Run runs a statement.
func (b *Bulk) Run(ctx context.Context, statement string) error {
	if _, err := b.conn.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%.200s: %w", statement, err)
	}
	return nil
}

// WithoutIndexes drops the indexes that belong to no constraint, calls fill and makes them again.
func (b *Bulk) WithoutIndexes(ctx context.Context, fill func() error) error {
	query := "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
	if b.postgres {
		query = `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
			AND indexname NOT IN (SELECT conname FROM pg_constraint)
			AND NOT EXISTS (SELECT 1 FROM pg_class WHERE oid = indexname::regclass AND relispartition)`
	}
	indexes, err := b.pairs(ctx, query)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := b.Run(ctx, "DROP INDEX "+index[0]); err != nil {
			return err
		}
	}
	if err := fill(); err != nil {
		return err
	}
	for _, index := range indexes {
		if err := b.Run(ctx, index[1]); err != nil {
			return err
		}
	}
	return nil
}

// TablesWith returns the tables that have a column.
func (b *Bulk) TablesWith(ctx context.Context, column string) ([]string, error) {
	query := fmt.Sprintf(`SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND c.name = '%s'`, column)
	if b.postgres {
		query = fmt.Sprintf(`SELECT table_name, column_name FROM information_schema.columns
			WHERE table_schema = 'public' AND column_name = '%s'
			AND NOT (SELECT relispartition FROM pg_class WHERE oid = table_name::regclass)`, column)
	}
	found, err := b.pairs(ctx, query)
	names := make([]string, len(found))
	for i, pair := range found {
		names[i] = pair[0]
	}
	return names, err
}

func (b *Bulk) pairs(ctx context.Context, query string) (all [][2]string, err error) {
	rows, err := b.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var pair [2]string
		if err := rows.Scan(&pair[0], &pair[1]); err != nil {
			return nil, err
		}
		all = append(all, pair)
	}
	return all, nil
}

// Columns returns the names of a table's columns.
func (b *Bulk) Columns(ctx context.Context, table string) (columns []string, err error) {
	return columnsOf(ctx, b.conn, table)
}

// Multiply is the function of that name on this connection. It copies the rows aside first: what reads and writes the
// same table has to be stored twice.
func (b *Bulk) Multiply(ctx context.Context, table, condition string, copies int, changed map[string]string) error {
	from := "some_" + table
	if err := b.Run(ctx, fmt.Sprintf("CREATE TEMPORARY TABLE %s AS SELECT * FROM %s AS o WHERE %s", from, table,
		condition)); err != nil {
		return err
	}
	err := multiply(ctx, b.conn, table, from, "1 = 1", copies, changed)
	return errors.Join(err, b.Run(ctx, "DROP TABLE "+from))
}
