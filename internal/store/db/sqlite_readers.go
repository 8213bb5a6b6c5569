package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/assayhq/assay/internal/store/sqlite"
)

// readers are the reading connections of SQLite: a pool of database/sql, and a few direct ones for the reads that run
// with every request.
type readers struct {
	*statements
	all       []*sqlite.Conn
	readQueue                // while none is free
	free      []*sqlite.Conn // under the lock of the queue; none after the end
	closed    bool           // under the lock of the queue
	returned  chan struct{}  // by each connection that was in use when the readers were closed
}

// maxReadsPerTransaction is how many reads of other requests a request runs in one transaction after its own. To begin
// and to end a transaction takes a third of the time of a short read.
const maxReadsPerTransaction = 16

func newReaders(s *statements, path string, n int) (*readers, error) {
	r := &readers{statements: s, returned: make(chan struct{}, n)}
	for range n {
		c, err := sqlite.Open(sqlite.URI(path), sqlite.Pragmas("query_only(1)", hotCache))
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.all, r.free = append(r.all, c), append(r.free, c)
	}
	return r, nil
}

// records reads on a direct connection. Nothing interrupts that: it takes less time than it would to watch ctx. Where
// all are taken, one who has a connection runs the reads of those who wait for it: a goroutine that is given a
// connection has to be woken first, and nobody would use the connection meanwhile.
func (r *readers) records(ctx context.Context, text string, args []any, rec *Record, each func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.lock.Lock()
	if n := len(r.free); n > 0 {
		c := r.free[n-1]
		r.free = r.free[:n-1]
		r.lock.Unlock()
		return r.run(c, text, args, rec, each)
	}
	if r.closed {
		r.lock.Unlock()
		return errClosed
	}
	own := newRead(ctx, text, args, rec, each)
	r.join(own)
	r.lock.Unlock()
	if err := <-own.ended; own.c == nil {
		return err
	}
	return r.run(own.c, text, args, rec, each)
}

// run reads on a connection, and then serves those who wait for it.
func (r *readers) run(c *sqlite.Conn, text string, args []any, rec *Record, each func() error) error {
	defer r.serveWaiting(c)
	return readRecords(c, text, args, rec, each)
}

// serveWaiting runs some of the reads that wait, and gives the connection to the next one, or back.
func (r *readers) serveWaiting(c *sqlite.Conn) {
	r.lock.Lock()
	others := r.take(maxReadsPerTransaction)
	r.lock.Unlock()
	if len(others) > 0 {
		runInOneTransaction(c, others)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, next := range r.take(1) {
		next.c = c
		next.ended <- nil
		return
	}
	if r.closed {
		r.returned <- struct{}{}
		return
	}
	r.free = append(r.free, c)
}

// runInOneTransaction runs reads in one transaction, which begins after all of them were asked for.
func runInOneTransaction(c *sqlite.Conn, reads []*read) {
	err := c.Exec("BEGIN")
	for _, w := range reads {
		if err == nil {
			w.ended <- w.run(c)
		} else {
			w.ended <- err
		}
	}
	if err == nil && c.Exec("COMMIT") != nil {
		_ = c.Exec("ROLLBACK") // fails where the transaction has ended by itself, after an error
	}
}

// run runs the read of another request, which a panic must not end.
func (w *read) run(c *sqlite.Conn) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic while reading: %v", v)
		}
	}()
	return readRecords(c, w.text, w.args, w.rec, w.each)
}

// close closes all connections. Requests that outlast the server may still read: what waits or comes later is refused,
// and what runs is waited for, which is not long.
func (r *readers) close() error {
	err := r.statements.close()
	for range r.end() {
		<-r.returned
	}
	for _, c := range r.all {
		err = errors.Join(err, c.Close())
	}
	r.all = nil
	return err
}

// end refuses all reads but those that run, and returns how many connections these have.
func (r *readers) end() (used int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, w := range r.take(len(r.waiting)) {
		w.ended <- errClosed
	}
	used = len(r.all) - len(r.free)
	r.closed, r.free = true, nil
	return used
}
