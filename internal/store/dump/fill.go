package dump

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/plain"
	"github.com/assayhq/assay/internal/store/schema"
)

// fill loads all rows in one transaction. Foreign keys are not enforced while rows arrive, so that tables and rows may
// come in any order, and are checked for all rows before the transaction ends.
func fill(ctx context.Context, target *schema.Database, d *reader, tables []table) (err error) {
	tx, err := target.BeginTx(ctx, nil)
	if err != nil {
		return db.Classify(err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // the first error is the one to report
		}
	}()
	checkReferences, batchRows := txCheck(findBrokenReference), sqliteBatch
	if target.Postgres() {
		batchRows = postgresBatch
		if checkReferences, err = dropForeignKeys(ctx, tx, tables); err != nil {
			return err
		}
	}
	if err := checkEmpty(ctx, tx, tables); err != nil {
		return err
	}
	for i := range tables {
		if tables[i].initial == 0 {
			continue
		}
		// The dump has these rows too, perhaps changed since.
		if err := plain.Exec(ctx, tx, "DELETE FROM "+tables[i].quoted()); err != nil {
			return err
		}
	}
	b := &batch{tx: tx, tables: tables, size: batchRows, rowids: !target.Postgres()}
	done := progress.Begin(ctx, "rows of the database", progress.Items, d.header.Total())
	if err := d.each(func(t *Table, row []any) error {
		done(1)
		return b.add(ctx, t, row)
	}); err != nil {
		return err
	}
	if err := b.end(ctx); err != nil {
		return err
	}
	progress.Step(ctx, "references between rows")
	if err := checkReferences(ctx, tx); err != nil {
		return err
	}
	progress.Step(ctx, "making the database durable")
	return db.Classify(tx.Commit())
}

// A batch is sent when it has this many rows, or bytes of text: on PostgreSQL a round trip costs most, while SQLite's
// driver binds a statement in time that grows with the square of its parameters.
const (
	postgresBatch = 200
	sqliteBatch   = 1
	batchBytes    = 1 << 20
)

// batch collects rows of one table for one INSERT.
type batch struct {
	tx     *sql.Tx
	tables []table
	size   int       // rows of a full batch
	rowids bool      // orders get the store.RowID of their id
	table  *table    // of the rows collected
	full   *sql.Stmt // inserts a full batch into that table
	rows   int
	bytes  int
	values []any
	id     int // the column that a store.RowID is made of; -1: none
}

// add takes a row whose columns are those of the table.
func (b *batch) add(ctx context.Context, from *Table, row []any) error {
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
	if b.id >= 0 {
		id, _ := row[b.id].(string)
		b.values = append(b.values, store.RowID(id))
	}
	if b.rows++; b.rows == b.size || b.bytes >= batchBytes {
		return b.flush(ctx)
	}
	return nil
}

// begin sends what was collected and starts another table.
func (b *batch) begin(ctx context.Context, name string) error {
	if err := b.end(ctx); err != nil {
		return err
	}
	for i := range b.tables {
		if b.tables[i].name == name {
			b.table = &b.tables[i]
		}
	}
	b.id = -1
	if b.rowids && name == "orders" {
		b.id = slices.IndexFunc(b.table.columns, func(c column) bool { return c.name == "id" })
	}
	var err error
	b.full, err = b.tx.PrepareContext(ctx, b.insert(b.size))
	return db.Classify(err)
}

// end sends what was collected and closes the statement of the table.
func (b *batch) end(ctx context.Context) error {
	if b.table == nil {
		return nil
	}
	return errors.Join(b.flush(ctx), db.Classify(b.full.Close()))
}

func (b *batch) insert(rows int) string {
	columns, names := len(b.table.columns), b.table.columnNames()
	if b.id >= 0 {
		columns, names = columns+1, names+", rowid"
	}
	return "INSERT INTO " + b.table.quoted() + " (" + names + ") VALUES " + db.Tuples(rows, columns)
}

func (b *batch) flush(ctx context.Context) (err error) {
	switch b.rows {
	case 0:
		return nil
	case b.size:
		_, err = b.full.ExecContext(ctx, b.values...)
		if db.RowIDTaken(err) { // which is of one row: it gets one that is free
			b.values[len(b.values)-1] = nil
			_, err = b.full.ExecContext(ctx, b.values...)
		}
	default:
		_, err = b.tx.ExecContext(ctx, b.insert(b.rows), b.values...)
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", b.table.name, db.Classify(err))
	}
	b.rows, b.bytes, b.values = 0, 0, b.values[:0]
	return nil
}

// txCheck checks the foreign keys of all rows before a transaction ends.
type txCheck func(context.Context, *sql.Tx) error

// findBrokenReference returns an error when a row of SQLite refers to a row that does not exist.
func findBrokenReference(ctx context.Context, tx *sql.Tx) error {
	return plain.Rows(ctx, tx, "PRAGMA foreign_key_check", nil, func(scan db.Scanner) error {
		var table, parent string
		if err := scan(&table, new(sql.NullInt64), &parent, new(sql.NullInt64)); err != nil {
			return err
		}
		return fmt.Errorf("a row of %s refers to a row of %s that does not exist", table, parent)
	})
}

// dropForeignKeys drops the foreign keys of PostgreSQL, which cannot be deferred otherwise, and returns a function that
// adds them again, which checks them. All within the transaction: nobody else ever sees the tables without them.
func dropForeignKeys(ctx context.Context, tx *sql.Tx, tables []table) (addAgain txCheck, err error) {
	names := make([]string, len(tables))
	ours := make(map[string]bool, len(tables))
	for i := range tables {
		names[i] = tables[i].quoted()
		ours[tables[i].name] = true
	}
	if err := plain.Exec(ctx, tx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return nil, err
	}
	var drops, adds []string
	err = plain.Rows(ctx, tx, `SELECT t.relname, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint AS c
		JOIN pg_class AS t ON t.oid = c.conrelid JOIN pg_namespace AS n ON n.oid = t.relnamespace
		WHERE c.contype = 'f' AND n.nspname = current_schema() ORDER BY t.relname, c.conname`, nil,
		func(scan db.Scanner) error {
			var table, name, definition string
			if err := scan(&table, &name, &definition); err != nil || !ours[table] {
				return err
			}
			drops = append(drops, "ALTER TABLE "+quote(table)+" DROP CONSTRAINT "+quote(name))
			adds = append(adds, "ALTER TABLE "+quote(table)+" ADD CONSTRAINT "+quote(name)+" "+definition)
			return nil
		})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *sql.Tx) error { return plain.Exec(ctx, tx, adds...) },
		plain.Exec(ctx, tx, drops...)
}
