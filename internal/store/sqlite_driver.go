package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteDriver lets database/sql use a sqliteConn, for the writer: most of what it runs is scanned by database/sql, and
// what runs with every request goes to the connection below.
type sqliteDriver struct {
	uri     string
	pragmas []string
}

// Connect implements driver.Connector.
func (d sqliteDriver) Connect(context.Context) (driver.Conn, error) {
	c, err := openConn(d.uri, d.pragmas)
	if err != nil {
		return nil, err
	}
	return driverConn{c}, nil
}

// Driver implements driver.Connector.
func (d sqliteDriver) Driver() driver.Driver { return d }

var errNotSupported = errors.New("not supported by this connection")

// Open implements driver.Driver.
func (d sqliteDriver) Open(string) (driver.Conn, error) { return nil, errNotSupported }

// direct returns the connection below one of database/sql.
func direct(c *sql.Conn) (below *sqliteConn, err error) {
	err = c.Raw(func(c any) error {
		below = c.(driverConn).sqliteConn
		return nil
	})
	return below, err
}

type driverConn struct{ *sqliteConn }

// Prepare implements driver.Conn.
func (c driverConn) Prepare(text string) (driver.Stmt, error) {
	s, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	return driverStmt{s}, nil
}

// Close implements driver.Conn.
func (c driverConn) Close() error { return c.close() }

// Begin implements driver.Conn. The writer begins and ends its transactions by statements.
func (c driverConn) Begin() (driver.Tx, error) { return nil, errNotSupported }

type driverStmt struct{ *sqliteStatement }

// Close implements driver.Stmt.
func (s driverStmt) Close() error { return s.finalize() }

// NumInput implements driver.Stmt.
func (s driverStmt) NumInput() int { return len(s.args) }

// Exec implements driver.Stmt.
func (s driverStmt) Exec(args []driver.Value) (driver.Result, error) {
	if err := bind(s.sqliteStatement, args); err != nil {
		return nil, err
	}
	defer s.reset()
	for {
		if more, err := s.step(); err != nil || !more {
			return driver.RowsAffected(sqlite3.Xsqlite3_changes64(s.tls, s.db)), err
		}
	}
}

// Query implements driver.Stmt.
func (s driverStmt) Query(args []driver.Value) (driver.Rows, error) {
	if err := bind(s.sqliteStatement, args); err != nil {
		return nil, err
	}
	return &driverRows{statement: s.sqliteStatement}, nil
}

// driverRows stand before their first row.
type driverRows struct{ statement *sqliteStatement }

// Columns implements driver.Rows.
func (r *driverRows) Columns() []string {
	s := r.statement
	names := make([]string, sqlite3.Xsqlite3_column_count(s.tls, s.handle))
	for i := range names {
		names[i] = libc.GoString(sqlite3.Xsqlite3_column_name(s.tls, s.handle, place(i)))
	}
	return names
}

// Close implements driver.Rows.
func (r *driverRows) Close() error {
	r.statement.reset()
	return nil
}

// Next implements driver.Rows.
func (r *driverRows) Next(to []driver.Value) error {
	s := r.statement
	more, err := s.step()
	if err != nil {
		return err
	}
	if !more {
		return io.EOF
	}
	for i := range to {
		switch s.kind(i) {
		case sqlite3.SQLITE_NULL:
			to[i] = nil
		case sqlite3.SQLITE_INTEGER:
			to[i] = s.integer(i)
		case sqlite3.SQLITE_FLOAT:
			to[i] = sqlite3.Xsqlite3_column_double(s.tls, s.handle, place(i))
		default:
			to[i] = string(s.bytes(i))
		}
	}
	return nil
}
