package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// readers are the reading connections of SQLite: a pool of database/sql, and a few direct ones for the reads that run
// with every request.
type readers struct {
	*statements
	all []*sqliteConn

	mu      sync.Mutex
	free    []*sqliteConn
	waiting []*read // while none is free, the first one first
}

// read is a read that waits for a connection, or for another request to run it.
type read struct {
	text  string
	args  []any
	rec   *record
	each  func() error
	ended chan error
	c     *sqliteConn // to run it on, where it ended so
}

// maxTogether is how many reads of other requests a request runs in one transaction after its own. To begin and to end
// a transaction takes a third of the time of a short read.
const maxTogether = 16

func newReaders(s *statements, path string, n int) (*readers, error) {
	r := &readers{statements: s}
	for range n {
		c, err := openConn(sqliteURI(path), sqlitePragmas("query_only(1)", hotCache))
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.all = append(r.all, c)
	}
	r.free = slices.Clone(r.all)
	return r, nil
}

// records reads on a direct connection. Nothing interrupts that: it takes less time than it would to watch ctx. Where
// all are taken, one who has a connection runs the reads of those who wait for it: a goroutine that is given a
// connection has to be woken first, and nobody would use the connection meanwhile.
func (r *readers) records(ctx context.Context, text string, args []any, rec *record, each func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	if n := len(r.free); n > 0 {
		c := r.free[n-1]
		r.free = r.free[:n-1]
		r.mu.Unlock()
		return r.run(c, ctx, text, args, rec, each)
	}
	own := &read{text: text, args: args, rec: rec, each: each, ended: make(chan error, 1)}
	r.waiting = append(r.waiting, own)
	r.mu.Unlock()
	if err := <-own.ended; own.c == nil {
		return err
	}
	return r.run(own.c, ctx, text, args, rec, each)
}

// run reads on a connection, and then helps those who wait for it.
func (r *readers) run(
	c *sqliteConn, ctx context.Context, text string, args []any, rec *record, each func() error,
) error {
	defer r.help(c)
	return c.records(ctx, text, args, rec, each)
}

// help runs some of the reads that wait, and gives the connection to the next one, or back.
func (r *readers) help(c *sqliteConn) {
	r.mu.Lock()
	n := min(len(r.waiting), maxTogether)
	if n == 0 {
		r.free = append(r.free, c)
		r.mu.Unlock()
		return
	}
	together := slices.Clone(r.waiting[:n])
	r.waiting = slices.Delete(r.waiting, 0, n)
	r.mu.Unlock()
	c.together(together)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		r.free = append(r.free, c)
		return
	}
	next := r.waiting[0]
	next.c = c
	next.ended <- nil
	r.waiting = slices.Delete(r.waiting, 0, 1)
}

// together runs reads in one transaction, which begins after all of them were asked for.
func (c *sqliteConn) together(reads []*read) {
	err := c.exec("BEGIN")
	for _, w := range reads {
		if err == nil {
			w.ended <- w.run(c)
		} else {
			w.ended <- err
		}
	}
	if err == nil && c.exec("COMMIT") != nil {
		_ = c.exec("ROLLBACK") // fails where the transaction has ended by itself, after an error
	}
}

// run runs the read of another request, which a panic must not end.
func (w *read) run(c *sqliteConn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic while reading: %v", v)
		}
	}()
	return c.records(context.Background(), w.text, w.args, w.rec, w.each)
}

// close closes all connections. Nobody uses them anymore.
func (r *readers) close() error {
	err := r.statements.close()
	for _, c := range r.all {
		err = errors.Join(err, c.close())
	}
	return err
}
