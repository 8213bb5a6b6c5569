package store

import (
	"context"
	"errors"
)

// readers are the reading connections of SQLite: a pool of database/sql, and a few direct ones for the reads that run
// with every request.
type readers struct {
	*statements
	free chan *sqliteConn
	all  []*sqliteConn
}

func newReaders(s *statements, path string, n int) (*readers, error) {
	r := &readers{statements: s, free: make(chan *sqliteConn, n)}
	for range n {
		c, err := openConn(sqliteURI(path), sqlitePragmas("query_only(1)", hotCache))
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.all = append(r.all, c)
		r.free <- c
	}
	return r, nil
}

// records reads on a direct connection. Nothing interrupts that: it takes less time than it would to watch ctx.
func (r *readers) records(ctx context.Context, text string, args []any, rec *record, each func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *sqliteConn
	select {
	case c = <-r.free:
	default: // the context of a request starts its timer when it is asked for its end
		select {
		case c = <-r.free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer func() { r.free <- c }()
	return c.records(ctx, text, args, rec, each)
}

// close closes all connections. Nobody uses them anymore.
func (r *readers) close() error {
	err := r.statements.close()
	for _, c := range r.all {
		err = errors.Join(err, c.close())
	}
	return err
}
