package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/store/sqlite"
)

// Corrupt reports whether an error says that what is stored cannot be read as a database, and in what words.
func Corrupt(err error) (string, bool) {
	if e, ok := errors.AsType[sqlite.Error](err); ok {
		code := e.Code() & 0xff
		return e.Error(), code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Message, e.Code == "XX001" || e.Code == "XX002" // data, index corrupted
	}
	return "", false
}

// SchemaProblems compares the schema with that of the migrations and calls f for every table, column, index and
// constraint that is missing or another one.
func (s *Store) SchemaProblems(ctx context.Context, f func(object, message string)) (note string, err error) {
	return schema.Problems(ctx, s.db, f)
}

// Integrity asks the engine to check its own structures and calls f for each problem, with the table or index where
// that is known. What could not be checked is in the note. deep also compares the indexes of PostgreSQL with their
// tables.
func (s *Store) Integrity(ctx context.Context, deep bool, f func(where, message string)) (note string, err error) {
	if s.db.Dialect == &db.SQLite {
		err = s.db.Rows(ctx, "PRAGMA integrity_check(1000)", nil, func(scan db.Scanner) error {
			var message string
			err := scan(&message)
			if err == nil && message != "ok" {
				f("", message)
			}
			return err
		})
		if message, corrupt := Corrupt(err); corrupt {
			f("", message)
			err = nil
		}
		return "", err
	}
	return s.integrityPostgres(ctx, deep, f)
}

// integrityPostgres uses the extension amcheck. Without it every row is read, which finds damaged tables but no damaged
// indexes.
func (s *Store) integrityPostgres(ctx context.Context, deep bool, f func(where, message string)) (string, error) {
	schema, err := db.Value[string](ctx, s.db.Queries, `SELECT quote_ident(n.nspname) FROM pg_extension AS e
		JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'amcheck'`)
	amcheck := !errors.Is(err, ErrNotFound)
	if err != nil && amcheck {
		return "", err
	}
	note := ""
	if !amcheck {
		note = "PostgreSQL's indexes were not checked: the extension amcheck is not in this database " +
			"(CREATE EXTENSION amcheck, as a superuser)"
	}
	run := func(where, text string) error {
		err := s.Snapshot(ctx, func(q Queries) error {
			return q.db.Rows(ctx, text, nil,
				func(db.Scanner) error { return nil })
		})
		if message, corrupt := Corrupt(err); corrupt {
			f(where, message)
			return nil
		}
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42501" { // not allowed
			note = "PostgreSQL's indexes were not checked: " + e.Message
			return nil
		}
		return err
	}
	if amcheck {
		indexes, err := db.Column[string](ctx, s.db.Queries, `SELECT i.indexrelid::regclass::text FROM pg_index AS i
			JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
			JOIN pg_am AS a ON a.oid = c.relam
			WHERE n.nspname = current_schema() AND c.relkind = 'i' AND a.amname = 'btree' AND i.indisvalid ORDER BY 1`)
		if err != nil {
			return "", err
		}
		for _, index := range indexes {
			if err := run(index, fmt.Sprintf("SELECT %s.bt_index_check('%s'::regclass, %t)", schema, index, deep)); err != nil {
				return note, err
			}
		}
	}
	tables, err := db.Column[string](ctx, s.db.Queries, `SELECT c.oid::regclass::text FROM pg_class AS c
		JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind = 'r' ORDER BY 1`)
	if err != nil {
		return note, err
	}
	for _, table := range tables {
		if err := run(table, "SELECT SUM(LENGTH(t::text)) FROM "+table+" AS t"); err != nil {
			return note, err
		}
	}
	return note, nil
}
