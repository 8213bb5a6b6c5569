// Package partition keeps the tables that grow with all that happens in parts by time, on PostgreSQL.
package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/plain"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// tables are the tables that PostgreSQL keeps in parts by time, because they grow with all that happens and
// are kept for a while only: to drop a part costs nothing, however many rows it has. SQLite has plain tables of the
// same names, and all statements are the same. A further table is one line here; its primary key has to have the
// column.
//
// The rows of a delivery are found by its id, which holds the time of its creation: a lookup touches one part. What
// belongs to no part, because a clock was wrong, or survives its part, is in the part rest.
var tables = []table{
	{"deliveries", "id", idBound, months},
	{"delivery_attempts", "delivery_id", idBound, months},
	{"events", "created_at", timeBound, weeks},
	{"request_log", "id", idBound, days},
}

// table is a table in parts: by the time in a column, each as long as span says.
type table struct {
	name   string
	column string
	bound  func(time.Time) string // a time as a literal of the column
	span   span
}

// partsAhead is how many parts are made ahead of the current one.
const partsAhead = 2

// maxParts is how many parts rows are arranged into that are older than the current one.
const maxParts = 60

// idBound is before all ids of the time, and after all before it.
func idBound(t time.Time) string { return "'" + uuid7.First(t) + "'" }

func timeBound(t time.Time) string { return fmt.Sprint(column.Micros(t)) }

// span is how long a part is: start returns when the one begins that has a time, which is at the beginning of a day,
// and next when the following one does.
type span struct{ start, next func(time.Time) time.Time }

var (
	months = span{
		start: func(t time.Time) time.Time { return t.UTC().Truncate(day).AddDate(0, 0, 1-t.UTC().Day()) },
		next:  func(t time.Time) time.Time { return t.AddDate(0, 1, 0) },
	}
	weeks = span{
		start: func(t time.Time) time.Time {
			return t.UTC().Truncate(day).AddDate(0, 0, -(int(t.UTC().Weekday())+6)%7) // Monday
		},
		next: func(t time.Time) time.Time { return t.AddDate(0, 0, 7) },
	}
	days = span{
		start: func(t time.Time) time.Time { return t.UTC().Truncate(day) },
		next:  func(t time.Time) time.Time { return t.AddDate(0, 0, 1) },
	}
)

const day = 24 * time.Hour

// Rest is the name of the part for rows that belong to no other; on SQLite it is the table itself.
func Rest(d *db.Dialect, table string) string {
	if d == &db.SQLite {
		return table
	}
	return table + restSuffix
}

const (
	restSuffix = "_rest"
	partLayout = "_p20060102"
)

// part is one of a partitioned table.
type part struct {
	*table
	start time.Time
}

func (p part) end() time.Time { return p.span.next(p.start) }

func (p part) String() string { return p.name + p.start.Format(partLayout) }

// maintenance runs f in a transaction that changes tables. Nothing that it does waits long for a lock, because
// everybody else would wait behind it; it is tried again in the next round of housekeeping.
func maintenance(ctx context.Context, pool *sql.DB, f func(*sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return db.Classify(err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := plain.Exec(ctx, tx,
		"SET LOCAL lock_timeout = '5s'", "SELECT pg_advisory_xact_lock(7305246120018)", // one node at a time
		"SET LOCAL lock_timeout = '500ms'", "SET LOCAL statement_timeout = 0"); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return db.Classify(tx.Commit())
}

// Hold keeps the parts of all tables as they are, until the transaction ends. It has to come before everything that a
// snapshot reads: what is moved into another part after the moment that a snapshot shows, it does not see anywhere.
// Locking is no reading, so that moment comes after it.
func Hold(ctx context.Context, tx *sql.Tx) error {
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].name
	}
	return plain.Exec(ctx, tx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS SHARE MODE")
}

// Busy reports whether a table could not be locked: a backup reads it, say, or others use it all the time.
func Busy(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "55P03"
}

// SetUp makes partitioned tables of those that migrations have made plain, and the parts of this time.
func SetUp(ctx context.Context, pool *sql.DB, now time.Time) error {
	for i := range tables {
		t := &tables[i]
		kind, err := t.kind(ctx, pool)
		if err == nil && kind == "r" {
			err = maintenance(ctx, pool, func(tx *sql.Tx) error { return t.convert(ctx, tx) })
		}
		if err == nil && kind != "" { // the schema is not older than the table
			_, err = t.makeParts(ctx, pool, t.span.start(now), now)
		}
		if err != nil && (kind != "p" || !Busy(err)) { // housekeeping makes what is missing
			return fmt.Errorf("partitions of %s: %w", t.name, err)
		}
	}
	return nil
}

// kind returns r for a plain table, p for a partitioned one, and nothing where there is none.
func (t *table) kind(ctx context.Context, q plain.Querier) (string, error) {
	kinds, err := plain.Column[string](ctx, q, "SELECT relkind::text FROM pg_class WHERE oid = to_regclass($1)", t.name)
	return strings.Join(kinds, ""), err
}

// convert replaces a plain table by a partitioned one with the same columns, constraints, indexes and rows.
func (t *table) convert(ctx context.Context, tx *sql.Tx) error {
	if kind, err := t.kind(ctx, tx); err != nil || kind != "r" { // another node was faster
		return err
	}
	if err := plain.Exec(ctx, tx, "LOCK TABLE "+t.name+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return err
	}
	keys, err := plain.Column[string](ctx, tx, `SELECT format('ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE conrelid = to_regclass($1) AND contype IN ('p', 'u', 'f') ORDER BY conname`, t.name)
	if err != nil {
		return err
	}
	indexes, err := plain.Column[string](ctx, tx, `SELECT pg_get_indexdef(indexrelid) FROM pg_index AS i
		WHERE indrelid = to_regclass($1) AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid)`,
		t.name)
	if err != nil {
		return err
	}
	former := t.name + "_plain"
	statements := []string{
		fmt.Sprintf("CREATE TABLE %s AS TABLE %s", former, t.name),
		fmt.Sprintf("CREATE TEMPORARY TABLE %s_form (LIKE %s INCLUDING ALL EXCLUDING INDEXES) ON COMMIT DROP",
			t.name, t.name),
		"DROP TABLE " + t.name,
		fmt.Sprintf("CREATE TABLE %s (LIKE %s_form INCLUDING ALL) PARTITION BY RANGE (%s)", t.name, t.name, t.column),
	}
	for _, key := range keys {
		statements = append(statements, "ALTER TABLE "+t.name+" "+key)
	}
	statements = append(statements, indexes...)
	return plain.Exec(ctx, tx, append(statements,
		fmt.Sprintf("CREATE TABLE %s PARTITION OF %s DEFAULT", t.name+restSuffix, t.name),
		fmt.Sprintf("INSERT INTO %s SELECT * FROM %s", t.name, former),
		"DROP TABLE "+former)...)
}

// parts returns the parts of the table but the rest, the oldest first.
func (t *table) parts(ctx context.Context, q plain.Querier) ([]part, error) {
	names, err := plain.Column[string](ctx, q, `SELECT c.relname FROM pg_inherits AS i
		JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1) ORDER BY c.relname`, t.name)
	var found []part
	for _, name := range names {
		if start, err := time.Parse(t.name+partLayout, name); err == nil {
			found = append(found, part{t, start})
		}
	}
	return found, err
}

// makeParts makes those parts that do not exist, from the one that begins at a time to those ahead of now, and returns
// how many. Rows of that time that are in the rest move into them.
func (t *table) makeParts(ctx context.Context, pool *sql.DB, from, now time.Time) (made int, err error) {
	existing, err := t.parts(ctx, pool)
	if err != nil {
		return 0, err
	}
	exists := make(map[string]bool, len(existing))
	for _, p := range existing {
		exists[p.String()] = true
	}
	last := t.span.start(now)
	for range partsAhead {
		last = t.span.next(last)
	}
	for p := (part{t, from}); !p.start.After(last); p.start = p.end() {
		if exists[p.String()] {
			continue
		}
		if err := maintenance(ctx, pool, func(tx *sql.Tx) error { return p.create(ctx, tx) }); err != nil {
			return made, err
		}
		made++
	}
	return made, nil
}

// create makes the part, unless another node has made it. It is filled before it becomes one: meanwhile the table can
// be used.
func (p part) create(ctx context.Context, tx *sql.Tx) error {
	there, err := plain.Any(ctx, tx, "SELECT 'there' WHERE to_regclass($1) IS NOT NULL", p.String())
	if err != nil || there {
		return err
	}
	from, to := p.bound(p.start), p.bound(p.end())
	return plain.Exec(ctx, tx,
		fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL)", p, p.name),
		fmt.Sprintf(`WITH moved AS (DELETE FROM %s WHERE %s >= %s AND %s < %s RETURNING *)
			INSERT INTO %s SELECT * FROM moved`, p.name+restSuffix, p.column, from, p.column, to, p),
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)", p.name, p, from, to))
}

// Make makes the parts ahead of a time, and returns how many were missing.
func Make(ctx context.Context, pool *sql.DB, now time.Time) (made int, err error) {
	for i := range tables {
		t := &tables[i]
		n, err := t.makeParts(ctx, pool, t.span.start(now), now)
		if made += n; err != nil && !Busy(err) {
			return made, fmt.Errorf("partitions of %s: %w", t.name, err)
		}
	}
	return made, nil
}

// Arrange moves rows into the parts that they belong to, those of old parts too, after a database was filled.
func Arrange(ctx context.Context, pool *sql.DB, now time.Time) error {
	var all error
	for i := range tables {
		t := &tables[i]
		from := t.span.start(now)
		for range maxParts {
			older, err := plain.Any(ctx, pool, fmt.Sprintf("SELECT 'older' FROM %s WHERE %s < %s LIMIT 1",
				t.name+restSuffix, t.column, t.bound(from)))
			if err != nil {
				return err
			}
			if !older {
				break
			}
			from = t.span.start(from.Add(-day))
		}
		_, err := t.makeParts(ctx, pool, from, now)
		all = errors.Join(all, err)
	}
	return all
}
