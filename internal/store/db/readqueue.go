package db

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/store/sqlite"
)

// read is a read that waits for a connection, or for another request to run it.
type read struct {
	ctx   context.Context // of the request, which waits for the read
	text  string
	args  []any
	rec   *Record
	each  func() error
	ended chan error
	c     *sqlite.Conn // to run it on, where it ended so
}

func newRead(ctx context.Context, text string, args []any, rec *Record, each func() error) *read {
	return &read{ctx: ctx, text: text, args: args, rec: rec, each: each, ended: make(chan error, 1)}
}

// readQueue is the reads that wait, the first one first. One that nobody has taken yet leaves the queue soon after its
// request has ended; any other one writes to what belongs to the request, which therefore waits for it.
type readQueue struct {
	lock    sync.Mutex
	waiting []*read
	watched bool // a timer runs
}

// watchInterval is how long after the end of its request a read may still wait. A timer for all is much cheaper than to
// listen to the end of every request.
const watchInterval = 20 * time.Millisecond

// join lets a read wait. The caller holds the lock.
func (q *readQueue) join(own *read) {
	q.waiting = append(q.waiting, own)
	q.watch()
}

// watch starts the timer while reads wait. The caller holds the lock.
func (q *readQueue) watch() {
	if !q.watched && len(q.waiting) > 0 {
		q.watched = true
		time.AfterFunc(watchInterval, q.dismiss)
	}
}

// dismiss ends the reads whose requests have ended.
func (q *readQueue) dismiss() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w *read) bool {
		err := w.ctx.Err()
		if err != nil {
			w.ended <- err
		}
		return err != nil
	})
	q.watched = false
	q.watch()
}

// take returns the first reads that wait. The caller holds the lock.
func (q *readQueue) take(limit int) []*read {
	n := min(limit, len(q.waiting))
	taken := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return taken
}
