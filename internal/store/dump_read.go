package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrNewerDump is returned for a dump that a later version of the program has written.
var ErrNewerDump = errors.New("the backup was made by a newer version of this program: install that version to restore it")

// dumpReader reads the lines of a dump.
type dumpReader struct {
	header DumpHeader
	lines  *json.Decoder
}

func readDump(r io.Reader) (*dumpReader, error) {
	d := &dumpReader{lines: json.NewDecoder(r)}
	d.lines.UseNumber() // a float would lose digits
	if err := d.lines.Decode(&d.header); err != nil {
		return nil, fmt.Errorf("read the header of the dump: %w", cutOff(err))
	}
	if d.header.Format > dumpFormat {
		return nil, ErrNewerDump
	}
	if d.header.Format < 1 {
		return nil, errors.New("this is not a dump of the database")
	}
	return d, nil
}

// each calls f for every row: values are nil, int64 or string. It is an error when rows are missing or follow the end.
func (d *dumpReader) each(f func(t *DumpTable, row []any) error) error {
	for i := range d.header.Tables {
		t := &d.header.Tables[i]
		for n := range t.Rows {
			var row []any
			if err := d.lines.Decode(&row); err != nil {
				return fmt.Errorf("read row %d of %s: %w", n+1, t.Name, cutOff(err))
			}
			if len(row) != len(t.Columns) {
				return fmt.Errorf("row %d of %s has %d values for %d columns", n+1, t.Name, len(row), len(t.Columns))
			}
			for c := range row {
				value, err := loaded(row[c])
				if err != nil {
					return fmt.Errorf("row %d of %s: column %s: %w", n+1, t.Name, t.Columns[c], err)
				}
				row[c] = value
			}
			if err := f(t, row); err != nil {
				return err
			}
		}
	}
	var end dumpEnd
	if err := d.lines.Decode(&end); err != nil {
		return fmt.Errorf("read the end of the dump: %w", cutOff(err))
	}
	if !end.End || d.lines.More() {
		return errors.New("the dump does not end where its header says")
	}
	return nil
}

// loaded is the value whose JSON form was read.
func loaded(value any) (any, error) {
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

// cutOff makes the end of the input an error that is not taken for success.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// DumpedPhoto is a photo as a dump knows it.
type DumpedPhoto struct {
	Name   string
	SHA256 string
	Bytes  int64
	Used   bool // by an order
}

// EachDumpedPhoto reads a dump to its end and calls f for every photo in it.
func EachDumpedPhoto(dump io.Reader, f func(DumpedPhoto) error) error {
	d, err := readDump(dump)
	if err != nil {
		return err
	}
	return d.each(func(t *DumpTable, row []any) error {
		if t.Name != "photos" {
			return nil
		}
		var p DumpedPhoto
		for i, value := range row {
			text, _ := value.(string)
			number, _ := value.(int64)
			switch t.Columns[i] {
			case "name":
				p.Name = text
			case "sha256":
				p.SHA256 = text
			case "bytes":
				p.Bytes = number
			case "used":
				p.Used = number == 1
			}
		}
		return f(p)
	})
}
