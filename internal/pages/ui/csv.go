package ui

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// csvFlush is after how many rows what is written goes out: the browser gets the file while it is made.
const csvFlush = 500

// byteOrderMark begins a file for people: without it, Excel reads the file in the encoding of the system, which is not
// UTF-8 in Japan.
const byteOrderMark = "\uFEFF"

// WriteCSV answers with a table that is written as it is read, whatever its length. A failure in the middle breaks the
// connection, so that nobody takes a part for the whole.
func WriteCSV(w http.ResponseWriter, name string, header []string,
	each func(write func(cells ...string) error) error,
) error {
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	buffer := bufio.NewWriter(w)
	_, _ = buffer.WriteString(byteOrderMark) // goes out with the first rows
	out := csv.NewWriter(buffer)             // has no other buffer
	rows := 0
	write := func(cells ...string) error {
		if err := out.Write(cells); err != nil {
			return err
		}
		if rows++; rows%csvFlush == 0 {
			out.Flush()
			_ = http.NewResponseController(w).Flush() // where it is not supported the file comes at once
		}
		return out.Error()
	}
	if err := write(header...); err != nil {
		return err
	}
	if err := each(write); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// What begins a formula, full-width forms included, and behind what a spreadsheet may begin another cell: some take a
// semicolon or a tab for the end of a cell whatever the file says.
const (
	formulaStarts = "=+-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20"
	cellEnds      = ";\t\r\n\""
)

// CSVText is text from outside in a form that no spreadsheet takes for a formula: an apostrophe stands before
// everything that could begin one.
func CSVText(s string) string { return withoutFormulas(s, "'%c") }

// CSVJSON is a value as JSON in a form that no spreadsheet takes for a formula, and that is still the same value: what
// could begin one, which is always inside a string, is written as an escape.
func CSVJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return withoutFormulas(string(b), `\u%04x`), err
}

// withoutFormulas writes every character that could begin a formula in another form.
func withoutFormulas(s, form string) string {
	if !strings.ContainsAny(s, formulaStarts) {
		return s
	}
	var b strings.Builder
	begins := true // here a cell begins, perhaps behind spaces
	for i, r := range s {
		if begins && strings.ContainsRune(formulaStarts, r) && (i == 0 || !strings.ContainsRune(cellEnds, r)) {
			fmt.Fprintf(&b, form, r)
		} else {
			b.WriteRune(r)
		}
		begins = strings.ContainsRune(cellEnds, r) || begins && r == ' '
	}
	return b.String()
}

// CSVTime is a moment in a table.
func CSVTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
