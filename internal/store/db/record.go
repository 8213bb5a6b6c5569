package db

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/sqlite"
)

// Record is a row whose columns are read by their indexes, while it is the current row of the read. The reads that run
// with every request use it: to scan into pointers costs as much as the read itself.
type Record struct {
	row    *sqlite.Statement         // of SQLite, or
	raw    [][]byte                  // as PostgreSQL has sent it; NULL is nil, or
	fields []pgconn.FieldDescription // of raw
	values []any                     // as a driver of database/sql gives them
	err    error                     // the first column that was not what was asked for

	buffer  []byte // of texts
	strings []string
	times   []time.Time
}

// room returns a place for a value among those of the rows before. A list takes a few allocations for them, instead of
// one for each.
func room[T any](all *[]T, value T) *T {
	switch n := cap(*all); {
	case n == 0:
		*all = make([]T, 0, 1)
	case n == len(*all):
		*all = make([]T, 0, max(16, 2*n))
	}
	*all = append(*all, value)
	return &(*all)[len(*all)-1]
}

// Text returns a text; NULL is the empty string.
func (r *Record) Text(i int) string {
	if r.row != nil || r.raw != nil {
		return string(r.bytes(i))
	}
	s, ok := r.values[i].(string)
	r.wrong(i, !ok && r.values[i] != nil, "a text")
	return s
}

// Word is text for a column with few values, which are not made anew for every row.
func (r *Record) Word(i int, words map[string]string) string {
	if r.row != nil {
		if known, ok := words[string(r.row.Value(i).Bytes())]; ok {
			return known
		}
	}
	if r.raw != nil {
		if known, ok := words[string(r.raw[i])]; ok {
			return known
		}
	}
	return r.Text(i)
}

// Keep returns where a text is kept with those of the rows before.
func (r *Record) Keep(text string) *string { return room(&r.strings, text) }

// Texts returns three texts in one allocation; NULL is the empty string.
func (r *Record) Texts(i, j, k int) (a, b, c string) {
	if r.row == nil && r.raw == nil {
		return r.Text(i), r.Text(j), r.Text(k)
	}
	r.buffer = append(r.buffer[:0], r.bytes(i)...)
	first := len(r.buffer)
	r.buffer = append(r.buffer, r.bytes(j)...)
	second := len(r.buffer)
	r.buffer = append(r.buffer, r.bytes(k)...)
	all := string(r.buffer)
	return all[:first], all[first:second], all[second:]
}

// bytes returns a text of SQLite or PostgreSQL, valid while the row is the current one.
func (r *Record) bytes(i int) []byte {
	if r.row != nil {
		v := r.row.Value(i)
		if kind := v.Kind(); kind != sqlite3.SQLITE_TEXT {
			r.wrong(i, kind != sqlite3.SQLITE_NULL, "a text")
			return nil
		}
		return v.Bytes()
	}
	r.wrong(i, r.raw[i] != nil && r.fields[i].DataTypeOID != pgtype.TextOID, "a text")
	return r.raw[i]
}

// Integer returns a number; NULL is 0.
func (r *Record) Integer(i int) int64 {
	if r.row != nil {
		v := r.row.Value(i)
		kind := v.Kind()
		r.wrong(i, kind != sqlite3.SQLITE_INTEGER && kind != sqlite3.SQLITE_NULL, "a number")
		return v.Integer()
	}
	if r.raw != nil {
		return r.rawInteger(i)
	}
	n, ok := r.values[i].(int64)
	r.wrong(i, !ok && r.values[i] != nil, "a number")
	return n
}

// rawInteger reads a number in the format that it was sent in.
func (r *Record) rawInteger(i int) int64 {
	b := r.raw[i]
	binaryFormat := r.fields[i].Format == pgtype.BinaryFormatCode
	switch oid := r.fields[i].DataTypeOID; {
	case b == nil:
		return 0
	case oid != pgtype.Int8OID && oid != pgtype.Int4OID:
	case !binaryFormat: // a setting in the URL, for proxies that do not know prepared statements
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			return n
		}
	case len(b) == 8:
		return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // the same bits
	case len(b) == 4: // of an expression
		return int64(int32(binary.BigEndian.Uint32(b))) //nolint:gosec // the same bits
	}
	r.wrong(i, true, "a number")
	return 0
}

func (r *Record) Null(i int) bool {
	if r.row != nil {
		return r.row.Value(i).Kind() == sqlite3.SQLITE_NULL
	}
	if r.raw != nil {
		return r.raw[i] == nil
	}
	return r.values[i] == nil
}

// Time returns a time; NULL is the zero time.
func (r *Record) Time(i int) time.Time {
	if r.Null(i) {
		return time.Time{}
	}
	return column.TimeOf(r.Integer(i))
}

// TimeOrNil returns a time; NULL is nil.
func (r *Record) TimeOrNil(i int) *time.Time {
	if r.Null(i) {
		return nil
	}
	return room(&r.times, column.TimeOf(r.Integer(i)))
}

// wrong notes that a column is not what was asked for.
func (r *Record) wrong(i int, is bool, want string) {
	if is && r.err == nil {
		r.err = fmt.Errorf("column %d is not %s", i, want)
	}
}

// Records calls each for every row of a read. What each takes from the record is its own.
func (q Queries) Records(ctx context.Context, text string, args []any, each func(*Record) error) error {
	ctx, cancel := q.limited(ctx)
	defer cancel()
	r := new(Record)
	return Classify(q.c.records(ctx, text, args, r, func() error { return cmp.Or(each(r), r.err) }))
}

// Record reads one row, or returns ErrNotFound.
func (q Queries) Record(ctx context.Context, text string, args []any, take func(*Record) error) error {
	found := false
	each := func(r *Record) error {
		found = true
		return take(r)
	}
	var err error
	if p, ok := q.c.(pool); ok {
		r := new(Record)
		err = Classify(p.batchedRecords(ctx, text, args, r, func() error { return cmp.Or(each(r), r.err) }))
	} else {
		err = q.Records(ctx, text, args, each)
	}
	if err == nil && !found {
		err = ErrNotFound
	}
	return err
}

// readRecords is how a connection to SQLite reads records.
func readRecords(c *sqlite.Conn, text string, args []any, r *Record, each func() error) error {
	rows, err := c.Query(text, args)
	if err != nil {
		return err
	}
	r.row = rows
	defer func() {
		r.row = nil
		rows.Reset()
	}()
	for {
		if more, err := rows.Step(); err != nil || !more {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// rawRecords is how pgx reads records.
func rawRecords(rows pgx.Rows, r *Record, each func() error) error {
	defer rows.Close()
	r.fields = rows.FieldDescriptions()
	for rows.Next() {
		r.raw = rows.RawValues()
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanRecords is how a connection of database/sql reads records.
func scanRecords(rows *sql.Rows, r *Record, each func() error) error {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	r.values = make([]any, len(columns))
	dest := make([]any, len(columns))
	for i := range dest {
		dest[i] = &r.values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}
