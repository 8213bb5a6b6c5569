package column_test

import (
	"bytes"
	"database/sql"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store/column"
)

// TestStoredForms checks that what is stored is read back as it was, to the microsecond, and what NULL is.
func TestStoredForms(t *testing.T) {
	type word string
	at := time.Date(2026, 11, 16, 8, 30, 0, 123_456_000, time.UTC)
	scan := func(to sql.Scanner, stored any) {
		t.Helper()
		if err := to.Scan(stored); err != nil {
			t.Errorf("%v: %v", stored, err)
		}
	}

	read, missing, text := at.Add(time.Hour), &at, word("before")
	scan(column.Time(&read), column.Micros(at))
	if !read.Equal(at) || read.Location() != time.UTC {
		t.Errorf("%s became %s", at, read)
	}
	scan(column.Time(&read), nil)
	scan(column.TimeOrNil(&missing), column.MicrosOrNull(nil))
	if !read.IsZero() || missing != nil {
		t.Errorf("NULL became %s and %v", read, missing)
	}
	scan(column.TimeOrNil(&missing), column.MicrosOrNull(&at))
	if missing == nil || !missing.Equal(at) {
		t.Errorf("%s became %v", at, missing)
	}
	scan(column.Text(&text), column.TextOrNull("日本"))
	if text != "日本" {
		t.Errorf("a text became %q", text)
	}
	scan(column.Text(&text), []byte("bytes of a driver"))
	if text != "bytes of a driver" {
		t.Errorf("bytes became %q", text)
	}
	scan(column.Text(&text), column.TextOrNull(""))
	if text != "" {
		t.Errorf("NULL became %q", text)
	}
	if column.Flag(true) != 1 || column.Flag(false) != 0 {
		t.Error("a flag is neither 0 nor 1")
	}

	raw := []byte{0, 0xff, '"', '\n'}
	if got, err := column.DecodeBytes(column.EncodeBytes(raw)); err != nil || !bytes.Equal(got, raw) {
		t.Errorf("%v became %v, %v", raw, got, err)
	}
	if _, err := column.DecodeBytes("no base64!"); err == nil {
		t.Error("what was never stored is read")
	}
	if err := column.Time(&read).Scan("noon"); err == nil {
		t.Error("a text is read as a time")
	}
}
