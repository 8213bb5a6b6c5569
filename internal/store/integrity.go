package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/domain/order"
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

// UnreadableOrder is the error of an order whose stored form is broken.
type UnreadableOrder struct {
	ID    string
	cause error
}

func (e *UnreadableOrder) Error() string {
	return fmt.Sprintf("order %s cannot be read: %v", e.ID, e.cause)
}

// Unwrap returns what is wrong with the stored form.
func (e *UnreadableOrder) Unwrap() error { return e.cause }

// readable names the order of an error in its stored form; nil is none.
func readable(orderID string, err error) error {
	if err == nil {
		return nil
	}
	return &UnreadableOrder{ID: orderID, cause: err}
}

// OrderColumns returns what the columns of an order tell, whether or not the rest can be read.
func (q Queries) OrderColumns(ctx context.Context, id string) (*order.Order, error) {
	var o order.Summary
	err := q.db.Record(ctx, "SELECT "+allColumns.text+" FROM orders AS o WHERE o.id = $1", []any{id},
		func(r *db.Record) error { return listed(allColumns, r, &o) })
	return &o.Order, err
}

// RepairOrder replaces what cannot be read of an order by what its columns tell, and returns what was there, by the
// name of its place. classify names what the columns have codes of. The caller is about to change the order.
func (t *Tx) RepairOrder(
	id string, classify func(categoryCode, brandCode string) order.Classification,
) (was map[string]string, err error) {
	var category, brand, facts, created, keyName string
	err = t.db.Row(t.Context(), `SELECT category_code, brand_code, facts, creation,
		(SELECT name FROM api_keys WHERE api_keys.id = orders.api_key_id) FROM orders WHERE id = $1`+t.db.Dialect.ForUpdate,
		[]any{id}, &category, &brand, &facts, &created, &keyName)
	if err != nil {
		return nil, err
	}
	was = make(map[string]string)
	replace := func(place, from, to, where string, args ...any) error {
		was[place] = from
		return t.db.One("UPDATE "+where, append([]any{to, id}, args...)...)
	}
	if recorded, broken := order.DecodeRecorded(facts); broken != nil || recorded.Classification.CategoryCode == "" {
		rest, err := json.Marshal(&order.Recorded{Classification: classify(category, brand)})
		if err != nil {
			return nil, err
		}
		if err := replace("facts", facts, string(rest), "orders SET facts = $1 WHERE id = $2"); err != nil {
			return nil, err
		}
	}
	if decodeCreation(created, new(creation)) != nil {
		rest, err := encodeCreation(keyName, nil)
		if err != nil {
			return nil, err
		}
		if err := replace("creation", created, rest, "orders SET creation = $1 WHERE id = $2"); err != nil {
			return nil, err
		}
	}
	events, err := db.Pairs[int64, string](t.Context(), t.db.Queries,
		"SELECT seq, details FROM order_events WHERE order_id = $1", id)
	if err != nil {
		return nil, err
	}
	for seq, details := range events {
		if _, broken := decodeDetails(details); broken == nil {
			continue
		}
		if err := replace(fmt.Sprintf("timeline %d", seq), details, "{}",
			"order_events SET details = $1 WHERE order_id = $2 AND seq = $3", seq); err != nil {
			return nil, err
		}
	}
	return was, nil
}
