package dump

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/store/db"
	"github.com/assayhq/assay/internal/store/plain"
	"github.com/assayhq/assay/internal/store/schema"
)

// ErrNotEmpty is returned when a dump should be loaded into a database that has rows.
var ErrNotEmpty = errors.New("the database is not empty: restore into a new one")

// CanLoad returns nil when a dump of a schema version can be loaded into the database: it does not exist or has no
// rows, and its schema is not newer than the dump's. It returns ErrNotEmpty or ErrNewer otherwise.
func CanLoad(ctx context.Context, target string, of int64) (err error) {
	newest, err := schema.NewestVersion()
	if err != nil {
		return err
	}
	if of > newest {
		return ErrNewer
	}
	exists, err := schema.Exists(ctx, target)
	if err != nil || !exists { // nothing to look at, and the look would leave a table of versions
		return err
	}
	opened, err := schema.OpenDatabase(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	version, err := opened.Version(ctx)
	if err != nil {
		return err
	}
	if version > of {
		return fmt.Errorf("%w: its schema (version %d) is newer than that of the backup (version %d)",
			ErrNotEmpty, version, of)
	}
	tables, err := schemaAt(ctx, version)
	if err != nil {
		return err
	}
	return checkEmpty(ctx, opened, tables)
}

// Load fills an empty database with a dump of either engine, all of it or nothing, and then brings its schema up to
// date. A dump of an older schema is loaded into that schema and then migrated, as a database is when the program is
// upgraded. It returns ErrNotEmpty or ErrNewer when it must not load.
func Load(ctx context.Context, target string, r io.Reader) (header *Header, err error) {
	d, err := newReader(r)
	if err != nil {
		return nil, err
	}
	if err := CanLoad(ctx, target, d.header.Schema); err != nil {
		return nil, err
	}
	opened, err := schema.OpenDatabase(target)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if err := opened.Migrate(ctx, d.header.Schema); err != nil {
		return nil, err
	}
	tables, err := schemaAt(ctx, d.header.Schema)
	if err != nil {
		return nil, err
	}
	if err := d.checkTables(tables); err != nil {
		return nil, err
	}
	if err := fill(ctx, opened, d, tables); err != nil {
		return nil, fmt.Errorf("load the database: %w", err)
	}
	return &d.header, finish(ctx, opened)
}

// FinishLoad does what follows the rows in Load, for a database whose Load was interrupted after them. To do it again
// changes nothing.
func FinishLoad(ctx context.Context, target string) error {
	opened, err := schema.OpenDatabase(target)
	if err != nil {
		return err
	}
	return errors.Join(finish(ctx, opened), opened.Close())
}

// finish brings the schema up to date, puts rows into the partitions of their time, and counts them for the planner.
func finish(ctx context.Context, opened *schema.Database) error {
	if err := opened.Migrate(ctx, schema.Newest); err != nil {
		return err
	}
	if err := opened.Arrange(ctx, time.Now()); err != nil {
		return err
	}
	if !opened.Postgres() {
		return nil
	}
	_, err := opened.ExecContext(ctx, "ANALYZE") // the planner would learn the sizes by itself, after some slow minutes
	return db.Classify(err)
}

// checkTables checks that the dump has exactly the tables and columns of its schema version.
func (d *reader) checkTables(tables []table) error {
	h := &d.header
	if len(h.Tables) != len(tables) {
		return fmt.Errorf("the dump has %d tables, its schema version %d has %d", len(h.Tables), h.Schema, len(tables))
	}
	sameName := func(name string, c column) bool { return name == c.name }
	for i := range tables {
		t, given := &tables[i], &h.Tables[i]
		if given.Name != t.name || !slices.EqualFunc(given.Columns, t.columns, sameName) {
			return fmt.Errorf("table %s of the dump is not as schema version %d has it", given.Name, h.Schema)
		}
	}
	return nil
}

// checkEmpty returns ErrNotEmpty when a table has more rows than the migrations have put there.
func checkEmpty(ctx context.Context, q plain.Querier, tables []table) error {
	for i := range tables {
		t := &tables[i]
		n, err := plain.Value[int64](ctx, q, "SELECT COUNT(*) FROM (SELECT 1 FROM "+t.quoted()+" LIMIT $1) AS found",
			t.initial+1)
		if err != nil {
			return err
		}
		if n > t.initial {
			return fmt.Errorf("%w: table %s has rows", ErrNotEmpty, t.name)
		}
	}
	return nil
}

// ErrNewer is returned for a dump that a later version of the program has written.
var ErrNewer = errors.New("the backup was made by a newer version of this program: install that version to restore it")

// reader reads the lines of a dump.
type reader struct {
	header Header
	lines  *json.Decoder
}

func newReader(r io.Reader) (*reader, error) {
	d := &reader{lines: json.NewDecoder(r)}
	d.lines.UseNumber() // a float would lose digits
	if err := d.lines.Decode(&d.header); err != nil {
		return nil, fmt.Errorf("read the header of the dump: %w", cutOff(err))
	}
	if d.header.Format > format {
		return nil, ErrNewer
	}
	if d.header.Format < 1 {
		return nil, errors.New("this is not a dump of the database")
	}
	return d, nil
}

// ReadHeader reads the header of a dump.
func ReadHeader(r io.Reader) (*Header, error) {
	d, err := newReader(r)
	if err != nil {
		return nil, err
	}
	return &d.header, nil
}

// each calls f for every row: values are nil, int64 or string. Missing rows and rows after the end are errors.
func (d *reader) each(f func(t *Table, row []any) error) error {
	for i := range d.header.Tables {
		t := &d.header.Tables[i]
		for n := range t.Rows {
			row, err := d.row(t)
			if err != nil {
				return fmt.Errorf("read row %d of %s: %w", n+1, t.Name, err)
			}
			if err := f(t, row); err != nil {
				return err
			}
		}
	}
	var end endMark
	if err := d.lines.Decode(&end); err != nil {
		return fmt.Errorf("read the end of the dump: %w", cutOff(err))
	}
	if !end.End || d.lines.More() {
		return errors.New("the dump does not end where its header says")
	}
	return nil
}

// row reads the next row, which has to be one of the table.
func (d *reader) row(t *Table) ([]any, error) {
	var row []any
	if err := d.lines.Decode(&row); err != nil {
		return nil, cutOff(err)
	}
	if len(row) != len(t.Columns) {
		return nil, fmt.Errorf("%d values for %d columns", len(row), len(t.Columns))
	}
	for i := range row {
		value, err := decoded(row[i])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", t.Columns[i], err)
		}
		row[i] = value
	}
	return row, nil
}

// decoded is the opposite of encoded.
func decoded(value any) (any, error) {
	switch v := value.(type) {
	case nil, string:
		return v, nil
	case json.Number:
		return strconv.ParseInt(v.String(), 10, 64)
	case map[string]any:
		if text, ok := v["base64"].(string); ok && len(v) == 1 {
			raw, err := base64.StdEncoding.DecodeString(text)
			return string(raw), err
		}
	}
	return nil, fmt.Errorf("a value of type %T does not belong into a dump", value)
}

// cutOff makes the end of the input an error that is not mistaken for success.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// EachRow reads a dump to its end and calls f for every row of a table, with the values by column: nil, int64 or
// string.
func EachRow(r io.Reader, table string, f func(row map[string]any) error) error {
	d, err := newReader(r)
	if err != nil {
		return err
	}
	return d.each(func(t *Table, values []any) error {
		if t.Name != table {
			return nil
		}
		row := make(map[string]any, len(values))
		for i, value := range values {
			row[t.Columns[i]] = value
		}
		return f(row)
	})
}
