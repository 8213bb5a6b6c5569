package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/schema"
	"github.com/assayhq/assay/internal/store/sqlite"
)

// storedTexts are the texts that the program reads besides those of orders and logs, each with the way in which that is
// done. Those of the large tables are read by deep checks.
var storedTexts = []struct {
	table, id, column string
	large             bool
	read              func(text string) error
}{
	{"api_keys", "id", "scopes", false, readWords(access.SplitScopes, access.AllScopes)},
	{"api_keys", "id", "limits", false, readAs(access.Key{}.Limits)},
	{"api_keys", "id", "networks", false, readNetworks},
	{"staff", "id", "token_networks", false, readNetworks},
	{"webhook_endpoints", "id", "events", false, readWords(splitEvents, webhook.Events)},
	{"approvals", "id", "deed", false, readAs(access.ApprovalPayload{})},
	{"verdict_drafts", "order_id", "draft", true, readAs(order.VerdictDraft{})},
	{"events", "order_id", "body", true, readObject},
	{"deliveries", "id", "body", true, readObject},
}

// readAs reads a text as a value of the type of another one.
func readAs[T any](T) func(text string) error {
	return func(text string) error { return json.Unmarshal([]byte(text), new(T)) }
}

// readWords reads a text as words of a list.
func readWords[T ~string](split func(string) []T, known []T) func(text string) error {
	return func(text string) error {
		for _, word := range split(text) {
			if !slices.Contains(known, word) {
				return fmt.Errorf("%q is none of %q", word, known)
			}
		}
		return nil
	}
}

func readNetworks(text string) error {
	_, err := parseNetworks(text)
	return err
}

// readObject reads what is passed on as it is: an object of JSON.
func readObject(text string) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &object)
	if err == nil && object == nil {
		err = errors.New("no object")
	}
	return err
}

// UnreadableTexts calls f for every text that the program cannot read, with the id of its row or of its order. figures
// reads those of a day of the statistics.
func (q Queries) UnreadableTexts(
	ctx context.Context, large bool, figures func(text string) error, f func(table, id string, cause error),
) error {
	look := func(table, id, column string, read func(text string) error) error {
		return q.db.Rows(ctx, "SELECT "+id+", "+column+" FROM "+table, nil, func(scan db.Scanner) error {
			var id, text string
			if err := scan(&id, &text); err != nil {
				return err
			}
			if cause := read(text); cause != nil {
				f(table, id, cause)
			}
			return nil
		})
	}
	if err := look("daily_statistics", "day", "figures", figures); err != nil {
		return err
	}
	for _, from := range storedTexts {
		if from.large && !large {
			continue
		}
		if err := look(from.table, from.id, from.column, from.read); err != nil {
			return err
		}
	}
	return nil
}

// UnreadableSteps calls f for every step in the timelines of orders whose details cannot be read.
func (q Queries) UnreadableSteps(ctx context.Context, f func(orderID, event string)) error {
	return q.db.Rows(ctx, "SELECT order_id, event, details FROM order_events", nil, func(scan db.Scanner) error {
		var orderID, event, details string
		if err := scan(&orderID, &event, &details); err != nil {
			return err
		}
		if _, broken := decodeDetails(details); broken != nil {
			f(orderID, event)
		}
		return nil
	})
}

// OrderPhotoProof is a photo of an order with what is known of it.
type OrderPhotoProof struct {
	access.Tenant // of the order
	OrderID       string
	Name          string
	IndexCode     string
	Known         bool // the photo has a row
	Row           photo.Stored
}

// OrderPhotosAfter returns the photos of up to limit orders whose ids follow the one given, as far as the id last, and
// the id of the last of these orders, empty when there are no more.
func (q Queries) OrderPhotosAfter(
	ctx context.Context, id, last string, limit int,
) (photos []OrderPhotoProof, next string, err error) {
	var names []string
	owner := make(map[string]OrderPhotoProof) // of an order
	add := func(orderID, name, indexCode string) {
		p := owner[orderID]
		p.OrderID, p.Name, p.IndexCode = orderID, name, indexCode
		photos, names = append(photos, p), append(names, name)
	}
	if err := q.db.Rows(ctx, `SELECT id, account_id, environment, creation FROM orders
		WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3`, []any{id, last, limit}, func(scan db.Scanner) error {
		var p OrderPhotoProof
		var text string
		if err := scan(&next, &p.AccountID, &p.Environment, &text); err != nil {
			return err
		}
		owner[next] = p
		var c creation
		_ = decodeCreation(text, &c) // what cannot be read is told of with its order
		for _, sent := range c.Photos {
			add(next, sent.Name, sent.IndexCode)
		}
		return nil
	}); err != nil {
		return nil, "", err
	}
	if err := q.db.Rows(ctx, `SELECT order_id, photo, index_code FROM order_photos WHERE order_id > $1 AND order_id <= $2
		AND photo IS NOT NULL ORDER BY order_id, round, position`, []any{id, next}, func(scan db.Scanner) error {
		var orderID, name, indexCode string
		err := scan(&orderID, &name, &indexCode)
		add(orderID, name, indexCode)
		return err
	}); err != nil {
		return nil, "", err
	}
	stored, err := q.PhotosNamed(ctx, names)
	for i := range photos {
		p := &photos[i]
		p.Row, p.Known = stored[p.Name]
	}
	return photos, next, err
}

// CertifiedPhotos returns the certificates of the authentic orders whose ids follow the one given, as far as the id
// last, by order.
func (q Queries) CertifiedPhotos(ctx context.Context, id, last string) (map[string]*certificate.Issued, error) {
	found := make(map[string]*certificate.Issued)
	return found, q.db.Rows(ctx, `SELECT o.id, c.id, c.document FROM orders AS o JOIN certificates AS c
		ON c.id = o.certificate_id WHERE o.id > $1 AND o.id <= $2 AND o.outcome = 'authentic'`, []any{id, last},
		func(scan db.Scanner) error {
			c := new(certificate.Issued)
			var document string
			err := scan(&c.OrderID, &c.ID, &document)
			c.Document = []byte(document)
			found[c.OrderID] = c
			return err
		})
}

// PhotoTotalsProof is what an account has of photos in an environment, counted and as its totals say.
type PhotoTotalsProof struct {
	access.Tenant
	Counted, Kept photo.Totals
}

// WrongPhotoTotals calls f for every account and environment whose totals of photos are not what is there.
func (q Queries) WrongPhotoTotals(ctx context.Context, f func(PhotoTotalsProof)) error {
	return each(ctx, q, func(p *PhotoTotalsProof) []any {
		return []any{&p.AccountID, &p.Environment, &p.Counted.Photos, &p.Counted.Bytes, &p.Kept.Photos, &p.Kept.Bytes}
	}, f, `SELECT account_id, environment, CAST(SUM(photos) AS BIGINT), CAST(SUM(bytes) AS BIGINT),
			CAST(SUM(kept_photos) AS BIGINT), CAST(SUM(kept_bytes) AS BIGINT) FROM (
			SELECT account_id, environment, COUNT(*) AS photos, SUM(bytes) AS bytes, 0 AS kept_photos, 0 AS kept_bytes
				FROM photos WHERE erased_at IS NULL GROUP BY account_id, environment
			UNION ALL SELECT account_id, environment, 0, 0, photos, bytes FROM photo_totals) AS found
		GROUP BY account_id, environment HAVING SUM(photos) <> SUM(kept_photos) OR SUM(bytes) <> SUM(kept_bytes)
		ORDER BY account_id, environment`)
}

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
		e, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case ok && e.Code == "42501": // not allowed
			note = "PostgreSQL's indexes were not checked: " + e.Message
			return nil
		case ok && e.Code == "42P01" && s.isDropped(ctx, where): // no such table
			return nil
		}
		return err
	}
	if amcheck {
		indexes, err := db.Column[string](ctx, s.db.Queries, `SELECT quote_ident(c.relname) FROM pg_index AS i
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
	tables, err := db.Column[string](ctx, s.db.Queries, `SELECT quote_ident(c.relname) FROM pg_class AS c
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

// isDropped reports whether PostgreSQL has no table or index of a name: housekeeping drops partitions at any time.
func (s *Store) isDropped(ctx context.Context, name string) bool {
	dropped, err := db.Value[bool](ctx, s.db.Queries, "SELECT to_regclass($1) IS NULL", name)
	return err == nil && dropped
}
