package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// fill loads all rows in one transaction. Foreign keys are out of force while rows arrive, so that no order of tables or
// rows has to be kept, and hold for all of them before the transaction ends.
func (l *loader) fill(ctx context.Context, d *dumpReader, tables []table) (err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap(err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first error is the one that tells
		}
	}()
	prove := proveReferences
	if IsPostgres(l.target) {
		if prove, err = suspendReferences(ctx, tx, tables); err != nil {
			return err
		}
	}
	if err := checkEmpty(ctx, tx.QueryRowContext, tables); err != nil {
		return err
	}
	for i := range tables {
		if tables[i].initial == 0 {
			continue
		}
		// The dump has these rows too, perhaps changed since.
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+tables[i].quoted()); err != nil { //nolint:gosec // the schema's own name, quoted
			return wrap(err)
		}
	}
	b := &batch{tx: tx, tables: tables, size: sqliteBatch}
	if IsPostgres(l.target) {
		b.size = postgresBatch
	}
	if err := d.each(func(t *DumpTable, row []any) error { return b.add(ctx, t, row) }); err != nil {
		return err
	}
	if err := b.end(ctx); err != nil {
		return err
	}
	if err := prove(ctx, tx); err != nil {
		return err
	}
	return wrap(tx.Commit())
}

// A batch is sent when it has so many rows, or bytes of text: on PostgreSQL a round trip costs most, while SQLite's driver
// binds a statement in time that grows with the square of its parameters.
const (
	postgresBatch = 200
	sqliteBatch   = 1
	batchBytes    = 1 << 20
)

// batch gathers rows of one table for one INSERT.
type batch struct {
	tx     *sql.Tx
	tables []table
	size   int       // rows of a full batch
	table  *table    // of the rows gathered
	full   *sql.Stmt // inserts a full batch into that table
	rows   int
	bytes  int
	values []any
}

// add takes a row whose columns are those of the table.
func (b *batch) add(ctx context.Context, from *DumpTable, row []any) error {
	if b.table == nil || b.table.name != from.Name {
		if err := b.begin(ctx, from.Name); err != nil {
			return err
		}
	}
	for i, value := range row {
		switch v := value.(type) {
		case int64:
			if !b.table.columns[i].integer {
				return fmt.Errorf("column %s.%s is text, the dump has a number", from.Name, from.Columns[i])
			}
		case string:
			if b.table.columns[i].integer {
				return fmt.Errorf("column %s.%s is a number, the dump has text", from.Name, from.Columns[i])
			}
			b.bytes += len(v)
		}
	}
	b.values = append(b.values, row...)
	if b.rows++; b.rows == b.size || b.bytes >= batchBytes {
		return b.flush(ctx)
	}
	return nil
}

// begin sends what is gathered and turns to another table.
func (b *batch) begin(ctx context.Context, name string) error {
	if err := b.end(ctx); err != nil {
		return err
	}
	for i := range b.tables {
		if b.tables[i].name == name {
			b.table = &b.tables[i]
		}
	}
	var err error
	b.full, err = b.tx.PrepareContext(ctx, b.insert(b.size))
	return wrap(err)
}

// end sends what is gathered and lets go of the table.
func (b *batch) end(ctx context.Context) error {
	if b.table == nil {
		return nil
	}
	return errors.Join(b.flush(ctx), wrap(b.full.Close()))
}

func (b *batch) insert(rows int) string {
	return "INSERT INTO " + b.table.quoted() + " (" + b.table.columnNames() + ") VALUES " + tuples(rows, len(b.table.columns))
}

func (b *batch) flush(ctx context.Context) (err error) {
	switch b.rows {
	case 0:
		return nil
	case b.size:
		_, err = b.full.ExecContext(ctx, b.values...)
	default:
		_, err = b.tx.ExecContext(ctx, b.insert(b.rows), b.values...)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", b.table.name, wrap(err))
	}
	b.rows, b.bytes, b.values = 0, 0, b.values[:0]
	return nil
}

// proveReferences finds rows of SQLite that refer to a row that is not there.
func proveReferences(ctx context.Context, tx *sql.Tx) error {
	return Queries{c: txConn{tx}, d: &sqliteDialect}.BrokenReferences(ctx, func(r BrokenReference) error {
		return fmt.Errorf("a row of %s refers to a row of %s that does not exist", r.Table, r.Parent)
	})
}

// suspendReferences drops the foreign keys of PostgreSQL, which can otherwise not wait, and returns what sets them
// again and thereby proves them. All within the transaction: nobody else ever sees the tables without them.
func suspendReferences(ctx context.Context, tx *sql.Tx, tables []table) (restore func(context.Context, *sql.Tx) error, err error) {
	names := make([]string, len(tables))
	ours := make(map[string]bool, len(tables))
	for i := range tables {
		names[i] = tables[i].quoted()
		ours[tables[i].name] = true
	}
	if _, err := tx.ExecContext(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return nil, wrap(err)
	}
	var drop, add []string
	q := Queries{c: txConn{tx}, d: &postgresDialect}
	err = q.rows(ctx, `SELECT t.relname, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = c.conrelid
		JOIN pg_namespace AS n ON n.oid = t.relnamespace WHERE c.contype = 'f' AND n.nspname = current_schema() ORDER BY t.relname, c.conname`, nil,
		func(scan func(...any) error) error {
			var table, name, definition string
			if err := scan(&table, &name, &definition); err != nil || !ours[table] {
				return err
			}
			drop = append(drop, "ALTER TABLE "+quote(table)+" DROP CONSTRAINT "+quote(name))
			add = append(add, "ALTER TABLE "+quote(table)+" ADD CONSTRAINT "+quote(name)+" "+definition)
			return nil
		})
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, tx *sql.Tx, statements []string) error {
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return wrap(err)
			}
		}
		return nil
	}
	return func(ctx context.Context, tx *sql.Tx) error { return run(ctx, tx, add) }, errors.Join(run(ctx, tx, drop))
}
