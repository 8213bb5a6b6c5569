// Package sqlite is SQLite as the store uses it: connections without database/sql, a driver of database/sql on top of
// them, checkpoints beside the writer, and a guard of the files.
package sqlite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Conn is a connection to SQLite without database/sql and its driver, whose locks, conversions and descriptions of
// columns take longer than SQLite for a read of one row. One goroutine uses it at a time: SQLite need not lock it.
type Conn struct {
	tls    *libc.TLS
	db     uintptr
	byText map[string]*Statement
}

// Statement is a prepared statement of a connection. While it runs, it has a current row.
type Statement struct {
	conn   *Conn
	handle uintptr
	args   []int   // the argument of each parameter
	texts  uintptr // memory of SQLite for the texts of parameters
	room   int     // in texts
}

// Error is an error of SQLite: of this package or of the driver that modernc.org/sqlite has.
type Error interface {
	error
	Code() int // an extended result code
}

type connError struct {
	code    int
	message string
}

func (e *connError) Code() int     { return e.code }
func (e *connError) Error() string { return fmt.Sprintf("%s (%d)", e.message, e.code) }

var errNoMemory = errors.New("out of memory")

// Open opens a connection to a database that exists; uri names the file, and pragmas are run on it.
func Open(uri string, pragmas []string) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS(), byText: make(map[string]*Statement)}
	name, err := libc.CString(uri)
	if err != nil {
		c.tls.Close()
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	code := c.withPointer(func(to uintptr) int32 {
		const flags = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_NOMUTEX | sqlite3.SQLITE_OPEN_URI
		return sqlite3.Xsqlite3_open_v2(c.tls, name, to, flags, 0)
	}, &c.db)
	if code == sqlite3.SQLITE_OK {
		code = sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	}
	if code != sqlite3.SQLITE_OK {
		return nil, errors.Join(c.failed(code), c.Close())
	}
	for _, pragma := range pragmas {
		if err := c.Exec("PRAGMA " + pragma); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, c.closeStatements()
}

// withPointer calls f with the address of a pointer, and puts what f wrote there into p.
func (c *Conn) withPointer(f func(to uintptr) int32, p *uintptr) int32 {
	at := libc.Xcalloc(c.tls, 1, libc.Tsize_t(unsafe.Sizeof(*p)))
	if at == 0 {
		return sqlite3.SQLITE_NOMEM
	}
	defer libc.Xfree(c.tls, at)
	code := f(at)
	*p = *(*uintptr)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(at, int(unsafe.Sizeof(*p))))))
	return code
}

// failed returns the error of a result code.
func (c *Conn) failed(code int32) error {
	message := libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, code))
	if c.db != 0 {
		if detail := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db)); detail != message {
			message += ": " + detail
		}
	}
	return &connError{int(code), message}
}

// Close closes the connection and its statements.
func (c *Conn) Close() error {
	err := c.closeStatements()
	if code := sqlite3.Xsqlite3_close_v2(c.tls, c.db); code != sqlite3.SQLITE_OK {
		err = errors.Join(err, c.failed(code))
	}
	c.tls.Close()
	return err
}

// maxDirect is how many statements a connection keeps: more than there are texts of reads with every request.
const maxDirect = 100

// statement returns the prepared statement of a text, which the connection keeps.
func (c *Conn) statement(text string) (*Statement, error) {
	if s, ok := c.byText[text]; ok {
		return s, nil
	}
	if len(c.byText) >= maxDirect {
		if err := c.closeStatements(); err != nil {
			return nil, err
		}
	}
	s, err := c.prepare(Unnamed(text))
	if err == nil {
		c.byText[text] = s
	}
	return s, err
}

// prepare returns a statement that the caller finalizes.
func (c *Conn) prepare(text string) (*Statement, error) {
	sql, err := libc.CString(text)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, sql)
	s := &Statement{conn: c}
	if code := c.withPointer(func(to uintptr) int32 {
		return sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, sql, -1, sqlite3.SQLITE_PREPARE_PERSISTENT, to, 0)
	}, &s.handle); code != sqlite3.SQLITE_OK {
		return nil, c.failed(code)
	}
	s.args = make([]int, sqlite3.Xsqlite3_bind_parameter_count(c.tls, s.handle))
	for i := range s.args {
		s.args[i] = i
		if name := sqlite3.Xsqlite3_bind_parameter_name(c.tls, s.handle, place(i)+1); name != 0 {
			n, err := strconv.Atoi(libc.GoString(name)[len("$"):])
			if err != nil {
				return nil, errors.Join(err, s.finalize())
			}
			s.args[i] = n - 1
		}
	}
	return s, nil
}

// place is the number of a column or parameter as SQLite takes it. There are never more than it allows.
func place(i int) int32 { return int32(i) } //nolint:gosec // below 32,767

// closeStatements closes all prepared statements.
func (c *Conn) closeStatements() (err error) {
	for _, s := range c.byText {
		err = errors.Join(err, s.finalize())
	}
	clear(c.byText)
	return err
}

func (s *Statement) finalize() error {
	libc.Xfree(s.conn.tls, s.texts)
	if code := sqlite3.Xsqlite3_finalize(s.conn.tls, s.handle); code != sqlite3.SQLITE_OK {
		return s.conn.failed(code)
	}
	return nil
}

// Query starts a statement, which stands before its first row. The caller steps through it and resets it.
func (c *Conn) Query(text string, args []any) (*Statement, error) {
	s, err := c.statement(text)
	if err == nil {
		err = bind(s, args)
	}
	return s, err
}

// Exec runs a statement for its effect.
func (c *Conn) Exec(text string) error {
	s, err := c.Query(text, nil)
	if err != nil {
		return err
	}
	return s.run()
}

// Changes returns how many rows the last statement that changed any has changed.
func (c *Conn) Changes() int64 { return sqlite3.Xsqlite3_changes64(c.tls, c.db) }

// InTransaction reports whether a transaction has begun and not ended. Some errors end it.
func (c *Conn) InTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// run steps to the end.
func (s *Statement) run() error {
	defer s.Reset()
	for {
		if more, err := s.Step(); err != nil || !more {
			return err
		}
	}
}

// Step goes to the next row, or to the end.
func (s *Statement) Step() (more bool, err error) {
	switch code := sqlite3.Xsqlite3_step(s.conn.tls, s.handle); code {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.conn.failed(code)
	}
}

// Reset ends a run of the statement. Its result is that of the last step.
func (s *Statement) Reset() { sqlite3.Xsqlite3_reset(s.conn.tls, s.handle) }

// bind gives all parameters their values. Texts are copied to one place, which holds those of one run.
func bind[T any](s *Statement, args []T) error {
	size := 1 // for an empty text, which needs a place, too
	for _, a := range args {
		if text, ok := any(a).(string); ok {
			size += len(text)
		}
	}
	if err := s.reserve(size); err != nil {
		return err
	}
	used := 0
	for i, from := range s.args {
		if from >= len(args) {
			return fmt.Errorf("parameter %d has no value", from+1)
		}
		var code int32
		switch a := any(args[from]).(type) {
		case string:
			copy(libc.GoBytes(s.texts, s.room)[used:], a)
			at := s.texts + uintptr(used)
			code = sqlite3.Xsqlite3_bind_text(s.conn.tls, s.handle, place(i)+1, at, int32(len(a)), 0) //nolint:gosec // reserve
			used += len(a)
		case int64:
			code = sqlite3.Xsqlite3_bind_int64(s.conn.tls, s.handle, place(i)+1, a)
		case int:
			code = sqlite3.Xsqlite3_bind_int64(s.conn.tls, s.handle, place(i)+1, int64(a))
		case nil:
			code = sqlite3.Xsqlite3_bind_null(s.conn.tls, s.handle, place(i)+1)
		default:
			return fmt.Errorf("parameter %d is a %T", from+1, a)
		}
		if code != sqlite3.SQLITE_OK {
			return s.conn.failed(code)
		}
	}
	return nil
}

// maxTexts is how long the texts of a statement may be together.
const maxTexts = 64 << 20

// reserve makes room for texts.
func (s *Statement) reserve(size int) error {
	if size <= s.room {
		return nil
	}
	if size > maxTexts {
		return errNoMemory
	}
	libc.Xfree(s.conn.tls, s.texts)
	s.room = max(128, size+size/2)
	if s.texts = libc.Xmalloc(s.conn.tls, libc.Tsize_t(s.room)); s.texts == 0 { //nolint:gosec // is positive
		s.room = 0
		return errNoMemory
	}
	return nil
}

// Value is a column of the current row of a statement.
type Value struct {
	tls *libc.TLS
	mem uintptr
}

// Value returns a column. What is asked of it is then a look at its memory, without a way through the statement.
func (s *Statement) Value(i int) Value {
	return Value{s.conn.tls, sqlite3.Xsqlite3_column_value(s.conn.tls, s.handle, place(i))}
}

// Kind returns the type of a column: SQLITE_NULL, SQLITE_INTEGER, SQLITE_TEXT, …
func (v Value) Kind() int32 { return sqlite3.Xsqlite3_value_type(v.tls, v.mem) }

// Integer returns a number; NULL is 0.
func (v Value) Integer() int64 { return sqlite3.Xsqlite3_value_int64(v.tls, v.mem) }

// Bytes returns a text, valid while the row is the current one.
func (v Value) Bytes() []byte {
	at := sqlite3.Xsqlite3_value_text(v.tls, v.mem)
	if at == 0 {
		return nil
	}
	return libc.GoBytes(at, int(sqlite3.Xsqlite3_value_bytes(v.tls, v.mem)))
}

// Unnamed writes parameters that come in their order, each once, as ? instead of $n. To SQLite $n is a name, which it
// looks up in a list of all names each time it is bound.
func Unnamed(text string) string {
	var b strings.Builder
	rest, n := text, 0
	for {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		n++
		number := strconv.Itoa(n)
		after := rest[i+1:]
		if !strings.HasPrefix(after, number) {
			return text
		}
		after = after[len(number):]
		if after != "" && '0' <= after[0] && after[0] <= '9' {
			return text
		}
		b.WriteString(rest[:i])
		b.WriteByte('?')
		rest = after
	}
}
