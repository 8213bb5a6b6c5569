package store

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// dumpFormat is the form of a dump; a program reads the forms up to its own.
const dumpFormat = 1

// DumpHeader is the first line of a dump: what follows, and of which schema.
type DumpHeader struct {
	Format    int         `json:"format"`
	Schema    int64       `json:"schema_version"`
	CreatedAt time.Time   `json:"created_at"`
	Tables    []DumpTable `json:"tables"` // in the order of their creation
}

// DumpTable says how many rows of a table follow, and the columns of each.
type DumpTable struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
}

// Rows returns the number of rows of a table; 0 when the dump does not have it.
func (h *DumpHeader) Rows(table string) int64 {
	for i := range h.Tables {
		if h.Tables[i].Name == table {
			return h.Tables[i].Rows
		}
	}
	return 0
}

// Total returns the number of all rows.
func (h *DumpHeader) Total() int64 {
	var n int64
	for i := range h.Tables {
		n += h.Tables[i].Rows
	}
	return n
}

// dumpEnd is the last line, by which a dump that was cut off is known.
type dumpEnd struct {
	End bool `json:"end"`
}

// rawText stands for a text that JSON could not hold unchanged.
type rawText struct {
	Base64 []byte `json:"base64"`
}

// Dump writes all rows as they are at one moment, in a form that any engine can be filled with (see Load): lines of
// JSON, first the header, then each row as an array, then an end mark. Memory does not grow with the database.
func (s *Store) Dump(ctx context.Context, w io.Writer, now time.Time) (*DumpHeader, error) {
	h := &DumpHeader{Format: dumpFormat, CreatedAt: now.UTC().Truncate(time.Millisecond), Tables: []DumpTable{}}
	err := s.Snapshot(ctx, func(q Queries) error {
		if err := q.row(ctx, "SELECT MAX(version_id) FROM goose_db_version", nil, &h.Schema); err != nil {
			return err
		}
		tables, err := schemaOf(ctx, h.Schema)
		if err != nil {
			return err
		}
		for i := range tables {
			t := &tables[i]
			d := DumpTable{Name: t.name}
			for _, c := range t.columns {
				d.Columns = append(d.Columns, c.name)
			}
			if err := q.row(ctx, "SELECT COUNT(*) FROM "+t.quoted(), nil, &d.Rows); err != nil {
				return err
			}
			h.Tables = append(h.Tables, d)
		}
		buffered := bufio.NewWriterSize(w, 1<<16)
		lines := json.NewEncoder(buffered)
		lines.SetEscapeHTML(false)
		if err := lines.Encode(h); err != nil {
			return err
		}
		for i := range tables {
			if err := q.dumpTable(ctx, lines, &tables[i]); err != nil {
				return fmt.Errorf("table %s: %w", tables[i].name, err)
			}
		}
		if err := lines.Encode(dumpEnd{true}); err != nil {
			return err
		}
		return buffered.Flush()
	})
	if err != nil {
		return nil, fmt.Errorf("dump the database: %w", err)
	}
	return h, nil
}

// schemaOf is schemaAt for a database that another program may have upgraded since it was opened.
func schemaOf(ctx context.Context, version int64) ([]table, error) {
	known, err := newestVersion()
	if err != nil {
		return nil, err
	}
	if version > known {
		return nil, ErrNewerDatabase
	}
	return schemaAt(ctx, version)
}

func (q Queries) dumpTable(ctx context.Context, lines *json.Encoder, t *table) error {
	scanned := make([]any, len(t.columns)) // pointers to scan into
	row := make([]any, len(t.columns))
	for i, c := range t.columns {
		if c.integer {
			scanned[i] = new(sql.NullInt64)
		} else {
			scanned[i] = new(sql.NullString)
		}
	}
	return q.rows(ctx, "SELECT "+t.columnNames()+" FROM "+t.quoted(), nil, func(scan func(...any) error) error {
		if err := scan(scanned...); err != nil {
			return err
		}
		for i := range scanned {
			row[i] = dumped(scanned[i])
		}
		return lines.Encode(row)
	})
}

// dumped is the JSON form of a value: null, a number or a string.
func dumped(scanned any) any {
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
