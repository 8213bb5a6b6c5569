package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Connector lets database/sql use a Conn: most of what a store runs is scanned by database/sql, and what runs with
// every request goes to the connection below.
type Connector struct {
	URI     string
	Pragmas []string
}

// Connect implements driver.Connector.
func (d Connector) Connect(context.Context) (driver.Conn, error) {
	c, err := Open(d.URI, d.Pragmas)
	if err != nil {
		return nil, err
	}
	return driverConn{c}, nil
}

// Driver implements driver.Connector.
func (d Connector) Driver() driver.Driver { return d }

var errNotSupported = errors.New("not supported by this connection")

// Open implements driver.Driver.
func (d Connector) Open(string) (driver.Conn, error) { return nil, errNotSupported }

// Unwrap returns the connection that one of database/sql wraps.
func Unwrap(c *sql.Conn) (unwrapped *Conn, err error) {
	err = c.Raw(func(c any) error {
		unwrapped = c.(driverConn).Conn
		return nil
	})
	return unwrapped, err
}

type driverConn struct{ *Conn }

// Prepare implements driver.Conn.
func (c driverConn) Prepare(text string) (driver.Stmt, error) {
	s, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	return driverStmt{s}, nil
}

// Begin implements driver.Conn. The writer begins and ends its transactions by statements.
func (c driverConn) Begin() (driver.Tx, error) { return nil, errNotSupported }

type driverStmt struct{ *Statement }

// Close implements driver.Stmt.
func (s driverStmt) Close() error { return s.finalize() }

// NumInput implements driver.Stmt.
func (s driverStmt) NumInput() int { return len(s.args) }

// Exec implements driver.Stmt.
func (s driverStmt) Exec(args []driver.Value) (driver.Result, error) {
	if err := bind(s.Statement, args); err != nil {
		return nil, err
	}
	err := s.run()
	return driver.RowsAffected(s.conn.Changes()), err
}

// Query implements driver.Stmt.
func (s driverStmt) Query(args []driver.Value) (driver.Rows, error) {
	if err := bind(s.Statement, args); err != nil {
		return nil, err
	}
	return &driverRows{statement: s.Statement}, nil
}

// driverRows stand before their first row.
type driverRows struct{ statement *Statement }

// Columns implements driver.Rows.
func (r *driverRows) Columns() []string {
	s := r.statement
	names := make([]string, sqlite3.Xsqlite3_column_count(s.conn.tls, s.handle))
	for i := range names {
		names[i] = libc.GoString(sqlite3.Xsqlite3_column_name(s.conn.tls, s.handle, place(i)))
	}
	return names
}

// Close implements driver.Rows.
func (r *driverRows) Close() error {
	r.statement.Reset()
	return nil
}

// Next implements driver.Rows.
func (r *driverRows) Next(to []driver.Value) error {
	s := r.statement
	more, err := s.Step()
	if err != nil {
		return err
	}
	if !more {
		return io.EOF
	}
	for i := range to {
		switch v := s.Value(i); v.Kind() {
		case sqlite3.SQLITE_NULL:
			to[i] = nil
		case sqlite3.SQLITE_INTEGER:
			to[i] = v.Integer()
		case sqlite3.SQLITE_FLOAT:
			to[i] = sqlite3.Xsqlite3_value_double(v.tls, v.mem)
		default:
			to[i] = string(v.Bytes())
		}
	}
	return nil
}

// DSN names a database for the driver of modernc.org/sqlite, with the settings of every connection, and more.
func DSN(path string, pragmas ...string) string {
	return URI(path) + "?" + url.Values{"_pragma": Pragmas(pragmas...)}.Encode()
}

// URI is the file of a database as SQLite takes it.
func URI(path string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
}

// Pragmas returns the settings of every connection, and more, which take the place of those with the same name: the
// driver runs them in an order of its own.
func Pragmas(more ...string) []string {
	all := []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
	}
	for _, pragma := range more {
		name, _, _ := strings.Cut(pragma, "(")
		all = slices.DeleteFunc(all, func(of string) bool { return strings.HasPrefix(of, name+"(") })
		all = append(all, pragma)
	}
	return all
}
