// Package sqltrace records the statements that the program runs, with their parameters, and runs them again with fresh
// values: a base for benchmarks that stays true when the program's SQL changes.
package sqltrace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Statement is one execution of a statement.
type Statement struct {
	Text string `json:"text"`
	Args []any  `json:"args"` // int64, string or nil, in the order of $1, $2, …
}

// line is a record of the trace of SQLite: the statement with and without its values.
type line struct {
	Connection uintptr `json:"connection"`
	Text       string  `json:"text"`
	Expanded   string  `json:"expanded"`
}

// recorder receives the statements of all connections of this process.
var recorder struct {
	mu sync.Mutex
	to *json.Encoder
}

// RecordSQLite writes every statement that SQLite runs in this process from now on. It must be called once, before the
// first connection is opened.
func RecordSQLite(to io.Writer) error {
	recorder.to = json.NewEncoder(to)
	callback := struct {
		f func(tls *libc.TLS, db, message, functions uintptr) int32
	}{trace}
	tls := libc.NewTLS()
	defer tls.Close()
	if code := sqlite3.Xsqlite3_auto_extension(tls, *(*uintptr)(unsafe.Pointer(&callback))); code != sqlite3.SQLITE_OK {
		return fmt.Errorf("sqltrace: SQLite refuses with %d", code)
	}
	return nil
}

// trace is called by SQLite for every connection that is opened, whoever opens it.
func trace(tls *libc.TLS, db, _, _ uintptr) int32 {
	callback := struct {
		f func(*libc.TLS, uint32, uintptr, uintptr, uintptr) int32
	}{record}
	return sqlite3.Xsqlite3_trace_v2(tls, db, sqlite3.SQLITE_TRACE_STMT, *(*uintptr)(unsafe.Pointer(&callback)), db)
}

// record is called by SQLite when a statement begins.
func record(tls *libc.TLS, _ uint32, db, statement, _ uintptr) int32 {
	expanded := sqlite3.Xsqlite3_expanded_sql(tls, statement)
	defer sqlite3.Xsqlite3_free(tls, expanded)
	l := line{db, libc.GoString(sqlite3.Xsqlite3_sql(tls, statement)), libc.GoString(expanded)}
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	_ = recorder.to.Encode(l) // what is cut off is noticed by the reader
	return 0
}

// ReadSQLite returns the complete transactions of a trace that write, in the order of their commits. Reads that go
// together are a transaction, too: what they ask for is not there yet, and must not be taken for what stays.
func ReadSQLite(from io.Reader) ([][]Statement, error) {
	open := map[uintptr][]Statement{}
	var all [][]Statement
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, err
		}
		s, err := l.statement()
		if err != nil {
			return nil, err
		}
		switch word := firstWord(l.Text); {
		case word == "BEGIN":
			open[l.Connection] = []Statement{s}
		case len(open[l.Connection]) == 0:
		case word == "ROLLBACK" && !strings.Contains(strings.ToUpper(l.Text), " TO "):
			delete(open, l.Connection)
		default:
			open[l.Connection] = append(open[l.Connection], s)
			if word == "COMMIT" {
				if slices.ContainsFunc(open[l.Connection], Statement.writes) {
					all = append(all, open[l.Connection])
				}
				delete(open, l.Connection)
			}
		}
	}
	return all, lines.Err()
}

func (s Statement) writes() bool {
	switch firstWord(s.Text) {
	case "BEGIN", "SELECT", "COMMIT":
		return false
	}
	return true
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.ToUpper(strings.TrimSuffix(word, ";"))
}

// statement finds the values by walking through both texts: they differ in the parameters only.
func (l *line) statement() (Statement, error) {
	s := Statement{Text: l.Text}
	text, expanded := l.Text, l.Expanded
	for text != "" {
		if n, length := parameter(text); length > 0 {
			if n == 0 { // a question mark is the next one
				n = len(s.Args) + 1
			}
			value, used, err := literal(expanded)
			if err != nil {
				return s, fmt.Errorf("%s: parameter %d: %w", l.Text, n, err)
			}
			for len(s.Args) < n {
				s.Args = append(s.Args, nil)
			}
			s.Args[n-1], text, expanded = value, text[length:], expanded[used:]
			continue
		}
		same := 1
		if text[0] == '\'' { // what looks like a parameter in a text is none
			if _, length, err := literal(text); err == nil {
				same = length
			}
		}
		if !strings.HasPrefix(expanded, text[:same]) {
			return s, fmt.Errorf("sqltrace: %q is not %q with values", l.Expanded, l.Text)
		}
		text, expanded = text[same:], expanded[same:]
	}
	return s, nil
}
