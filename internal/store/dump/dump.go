// Package dump copies all rows of a database into a file of lines of JSON, and such a file into an empty database of
// either engine. It learns tables and columns from the migrations and knows nothing of what the rows mean.
package dump

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/plain"
	"github.com/assayhq/assay/internal/store/schema"
)

// format is the version of the file format; a program reads the formats up to its own.
const format = 1

// Header is the first line of a dump: which tables follow, and of which schema version.
type Header struct {
	Format    int       `json:"format"`
	Schema    int64     `json:"schema_version"`
	CreatedAt time.Time `json:"created_at"`
	Tables    []Table   `json:"tables"` // in the order of their creation
}

// Table says how many rows of a table follow, and the columns of each.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
}

// Rows returns the number of rows of a table; 0 when the dump does not have it.
func (h *Header) Rows(table string) int64 {
	for i := range h.Tables {
		if h.Tables[i].Name == table {
			return h.Tables[i].Rows
		}
	}
	return 0
}

// Total returns the number of all rows.
func (h *Header) Total() int64 {
	var n int64
	for i := range h.Tables {
		n += h.Tables[i].Rows
	}
	return n
}

// endMark is the last line. A dump without it was cut off.
type endMark struct {
	End bool `json:"end"`
}

// rawText stands for a text that is not valid UTF-8, which JSON cannot represent.
type rawText struct {
	Base64 []byte `json:"base64"`
}

// Write writes all rows as they are at one moment: the header, each row as an array, then an end mark. Memory does not
// grow with the database.
func Write(ctx context.Context, s *store.Store, w io.Writer, now time.Time) (*Header, error) {
	h := &Header{Format: format, CreatedAt: now.UTC().Truncate(time.Millisecond), Tables: []Table{}}
	progress.Step(ctx, "counting rows")
	err := s.SnapshotTx(ctx, func(tx *sql.Tx) error {
		tables, err := h.read(ctx, tx)
		if err != nil {
			return err
		}
		buffered := bufio.NewWriterSize(w, 1<<16)
		lines := json.NewEncoder(buffered)
		lines.SetEscapeHTML(false)
		if err := lines.Encode(h); err != nil {
			return err
		}
		done := progress.Begin(ctx, "rows of the database", progress.Items, h.Total())
		for i := range tables {
			if err := writeTable(ctx, tx, lines, &tables[i], done); err != nil {
				return fmt.Errorf("table %s: %w", tables[i].name, err)
			}
		}
		if err := lines.Encode(endMark{true}); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if err != nil {
		return nil, fmt.Errorf("dump the database: %w", err)
	}
	return h, nil
}

// Count returns the tables of a database with the number of their rows at one moment.
func Count(ctx context.Context, s *store.Store) ([]Table, error) {
	var h Header
	err := s.SnapshotTx(ctx, func(tx *sql.Tx) error {
		_, err := h.read(ctx, tx)
		return err
	})
	return h.Tables, err
}

// read fills in the schema version and the tables. The schema is that of the database, which a newer program may have
// upgraded since it was opened.
func (h *Header) read(ctx context.Context, tx *sql.Tx) ([]table, error) {
	var err error
	if h.Schema, err = plain.Value[int64](ctx, tx, "SELECT MAX(version_id) FROM goose_db_version"); err != nil {
		return nil, err
	}
	newest, err := schema.NewestVersion()
	if err != nil {
		return nil, err
	}
	if h.Schema > newest {
		return nil, schema.ErrNewerDatabase
	}
	tables, err := schemaAt(ctx, h.Schema)
	if err != nil {
		return nil, err
	}
	for i := range tables {
		t := &tables[i]
		listed := Table{Name: t.name}
		for _, c := range t.columns {
			listed.Columns = append(listed.Columns, c.name)
		}
		if listed.Rows, err = plain.Value[int64](ctx, tx, "SELECT COUNT(*) FROM "+t.quoted()); err != nil {
			return nil, err
		}
		h.Tables = append(h.Tables, listed)
	}
	return tables, nil
}

func writeTable(ctx context.Context, tx *sql.Tx, lines *json.Encoder, t *table, done func(int64)) error {
	scanned := make([]any, len(t.columns)) // pointers to scan into
	row := make([]any, len(t.columns))
	for i, c := range t.columns {
		if c.integer {
			scanned[i] = new(sql.NullInt64)
		} else {
			scanned[i] = new(sql.NullString)
		}
	}
	return plain.Rows(ctx, tx, "SELECT "+t.columnNames()+" FROM "+t.quoted(), nil, func(scan db.Scanner) error {
		if err := scan(scanned...); err != nil {
			return err
		}
		for i := range scanned {
			row[i] = encoded(scanned[i])
		}
		done(1)
		return lines.Encode(row)
	})
}

// encoded returns the JSON form of a value: null, a number, a string or a rawText.
func encoded(scanned any) any {
	switch v := scanned.(type) {
	case *sql.NullInt64:
		if v.Valid {
			return v.Int64
		}
	case *sql.NullString:
		switch {
		case v.Valid && utf8.ValidString(v.String):
			return v.String
		case v.Valid:
			return rawText{[]byte(v.String)}
		}
	}
	return nil
}

// table is a table of the schema with its columns in the order of their definition.
type table struct {
	name    string
	columns []column
	initial int64 // rows that the migrations themselves put into an empty database
}

type column struct {
	name    string
	integer bool // else text
}

// schemaAt returns the tables of a schema version in the order of their creation. It learns them from the migrations,
// which run on a database in memory: they are one text for both engines, so every database of that version has these
// tables and columns, and nobody has to maintain a list. The version must not be newer than the program.
func schemaAt(ctx context.Context, version int64) (tables []table, err error) {
	memory, err := schema.OpenMemory(ctx, version)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	err = plain.Rows(ctx, memory, `SELECT t.name, c.name, c.type FROM sqlite_master AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND t.name <> 'goose_db_version'
		ORDER BY t.rowid, c.cid`, nil,
		func(scan db.Scanner) error {
			var name, declared string
			var c column
			if err := scan(&name, &c.name, &declared); err != nil {
				return err
			}
			switch declared {
			case "BIGINT", "INTEGER":
				c.integer = true
			case "TEXT":
			default:
				return fmt.Errorf("column %s.%s has the type %s: "+
					"only BIGINT, INTEGER and TEXT can be copied exactly between engines", name, c.name, declared)
			}
			if len(tables) == 0 || tables[len(tables)-1].name != name {
				tables = append(tables, table{name: name})
			}
			t := &tables[len(tables)-1]
			t.columns = append(t.columns, c)
			return nil
		})
	for i := 0; i < len(tables) && err == nil; i++ {
		tables[i].initial, err = plain.Value[int64](ctx, memory, "SELECT COUNT(*) FROM "+tables[i].quoted())
	}
	return tables, err
}

// quoted is the table's name in a statement.
func (t *table) quoted() string { return quote(t.name) }

// columnNames returns the columns as they are listed in a statement.
func (t *table) columnNames() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = quote(c.name)
	}
	return strings.Join(names, ", ")
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
