package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"modernc.org/sqlite"
)

// readers are the reading connections of SQLite. Records are read without database/sql, whose locks and conversions
// take longer than SQLite for a read of one row: by a few connections of their own, each with its prepared statements.
type readers struct {
	*statements
	free chan *directConn
	all  []*directConn
}

func newReaders(s *statements, dsn string, n int) (*readers, error) {
	r := &readers{statements: s, free: make(chan *directConn, n)}
	for range n {
		c, err := new(sqlite.Driver).Open(dsn)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		d := &directConn{Conn: c, byText: make(map[string]driver.Stmt)}
		r.all = append(r.all, d)
		r.free <- d
	}
	return r, nil
}

func (r *readers) records(ctx context.Context, text string, args []any, rec *record, each func() error) error {
	select {
	case c := <-r.free:
		defer func() { r.free <- c }()
		return c.records(ctx, text, args, rec, each)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close closes all connections. Nobody uses them anymore.
func (r *readers) close() error {
	err := r.statements.close()
	for _, c := range r.all {
		err = errors.Join(err, c.forget(), c.Close())
	}
	return err
}

// directConn is a connection that one reader uses at a time.
type directConn struct {
	driver.Conn
	byText map[string]driver.Stmt
	args   []driver.NamedValue
}

// maxDirect is how many statements a connection keeps: more than there are texts of reads with every request.
const maxDirect = 100

func (c *directConn) statement(ctx context.Context, text string) (driver.Stmt, error) {
	if s, ok := c.byText[text]; ok {
		return s, nil
	}
	if len(c.byText) >= maxDirect {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, unnamed(text))
	if err == nil {
		c.byText[text] = s
	}
	return s, err
}

// forget closes all statements.
func (c *directConn) forget() (err error) {
	for _, s := range c.byText {
		err = errors.Join(err, s.Close())
	}
	clear(c.byText)
	return err
}

func (c *directConn) records(
	ctx context.Context, text string, args []any, rec *record, each func() error,
) (err error) {
	stmt, err := c.statement(ctx, text)
	if err != nil {
		return err
	}
	c.args = c.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, c.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rec.values))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for i, v := range values {
			rec.values[i] = v
		}
		if err := each(); err != nil {
			return err
		}
	}
}
