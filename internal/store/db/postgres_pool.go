package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// pool is the connections of PostgreSQL, whose driver keeps prepared statements itself.
type pool struct {
	db      *sql.DB
	batcher *readBatcher
}

func newPool(db *sql.DB) pool { return pool{db, new(readBatcher)} }

func (p pool) query(ctx context.Context, q string, args []any) (*sql.Rows, error) {
	return p.db.QueryContext(ctx, q, args...)
}

func (p pool) exec(ctx context.Context, q string, args []any) (sql.Result, error) {
	return p.db.ExecContext(ctx, q, args...)
}

func (p pool) batch(ctx context.Context, commands []Command, _ bool) error {
	return oneByOne(ctx, p, commands)
}

// records reads with pgx itself: its driver for database/sql makes much of each row.
func (p pool) records(ctx context.Context, q string, args []any, r *Record, each func() error) error {
	return p.raw(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, q, args...)
		if err != nil {
			return err
		}
		return rawRecords(rows, r, each)
	})
}

func (p pool) raw(ctx context.Context, f func(*pgx.Conn) error) error {
	c, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.Raw(func(c any) error { return f(c.(*stdlib.Conn).Conn()) }), c.Close())
}

// readBatcher limits the round trips of short reads. While some are on their way, the reads that come are gathered and
// sent together: a round trip for many costs both sides much less than one for each.
type readBatcher struct {
	readQueue
	running int // under the lock of the queue
}

const (
	maxRoundTrips        = 3 // at the same time
	maxReadsPerRoundTrip = 64
)

var (
	errYourTurn    = errors.New("it is this read's turn to go, with all that wait")
	errRepeatAlone = errors.New("the read has to be repeated alone")
)

// batchedRecords is records for a short read, which may share its round trip with others.
func (p pool) batchedRecords(ctx context.Context, q string, args []any, r *Record, each func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own := newRead(ctx, q, args, r, each)
	err := errYourTurn
	if !p.batcher.begin(own) {
		err = <-own.ended
	}
	if errors.Is(err, errYourTurn) {
		defer p.batcher.end()
		if others := p.batcher.others(); len(others) > 0 {
			p.send(ctx, append(others, own))
			err = <-own.ended
		} else {
			err = errRepeatAlone
		}
	}
	if !errors.Is(err, errRepeatAlone) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return p.records(ctx, q, args, r, each)
}

// send runs reads in one round trip and ends each. One that fails keeps those after it from running. The others do not
// end with the request that sends them.
func (p pool) send(ctx context.Context, reads []*read) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	b := new(pgx.Batch)
	for _, w := range reads {
		b.Queue(w.text, w.args...)
	}
	n := 0
	_ = p.raw(ctx, func(c *pgx.Conn) error {
		results := c.SendBatch(ctx, b)
		for ; n < len(reads); n++ {
			reads[n].ended <- reads[n].receive(results)
		}
		return results.Close()
	})
	for _, w := range reads[n:] {
		w.ended <- errRepeatAlone
	}
}

// receive takes the result of a read. One of which nothing has come may be repeated.
func (w *read) receive(results pgx.BatchResults) (err error) {
	begun := false
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic while reading: %v", v)
		}
	}()
	rows, err := results.Query()
	if err == nil {
		err = rawRecords(rows, w.rec, func() error {
			begun = true
			return w.each()
		})
	}
	if err != nil && !begun {
		return errRepeatAlone
	}
	return err
}

// begin reports whether the read may go at once. Otherwise it waits: for its end, or for its turn.
func (b *readBatcher) begin(own *read) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.running < maxRoundTrips {
		b.running++
		return true
	}
	b.join(own)
	return false
}

// others returns the reads that share the round trip of one whose turn it is.
func (b *readBatcher) others() []*read {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.take(maxReadsPerRoundTrip - 1)
}

// end gives the turn to the next read that waits.
func (b *readBatcher) end() {
	b.lock.Lock()
	defer b.lock.Unlock()
	for _, next := range b.take(1) {
		next.ended <- errYourTurn
		return
	}
	b.running--
}
