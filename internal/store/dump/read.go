package dump

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

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
