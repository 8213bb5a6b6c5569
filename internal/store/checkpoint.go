package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// checkpointer copies committed pages from SQLite's log (the file -wal) to the database file, on a connection of its
// own, while the writer goes on. SQLite itself would do that within a commit, after every thousand pages, and all that
// wait for the commit would wait for two more flushes. The end of the log is left to the writer: only where nothing is
// committed meanwhile is all of the log copied, and only then does SQLite begin it anew.
type checkpointer struct {
	conn    *sqliteConn
	begin   int64 // pages to be copied with which a checkpoint begins
	wanted  chan struct{}
	nearEnd atomic.Bool // what is left is short enough for the writer
	running sync.WaitGroup
	err     error // of the end
}

const (
	longLog = 8_000 // pages with which a checkpoint begins: 32 MB
	atMost  = 8     // the share of them that the writer copies itself: as much as SQLite would

	// maxPasses is how often the checkpointer goes after a writer that is as fast as itself, before it lets it wait.
	maxPasses = 4
)

// byCheckpointer is for connections that write: SQLite does not begin checkpoints by itself.
const byCheckpointer = "wal_autocheckpoint(0)"

func newCheckpointer(path string) (*checkpointer, error) {
	c, err := openConn(sqliteURI(path), sqlitePragmas(byCheckpointer))
	if err != nil {
		return nil, err
	}
	return &checkpointer{conn: c, begin: longLog, wanted: make(chan struct{}, 1)}, nil
}

// start begins to work until the writer ends. What is left then SQLite copies when the last connection is closed.
func (p *checkpointer) start(writer <-chan struct{}) {
	p.running.Go(func() {
		for {
			select {
			case <-p.wanted:
				p.follow()
			case <-writer:
				p.err = p.conn.close()
				return
			}
		}
	})
}

// wait returns when the checkpointer has ended.
func (p *checkpointer) wait() error {
	p.running.Wait()
	return p.err
}

// follow copies the log until it has almost caught up with the writer. An error is not reported: the log keeps what
// could not be copied, and where the disk fails for good the next commit says so.
func (p *checkpointer) follow() {
	left, err := p.conn.uncopied()
	if err != nil || left < p.begin {
		return
	}
	for pass := 0; pass < maxPasses && left > p.begin/atMost; pass++ {
		if err := p.conn.copyLog(); err != nil {
			return
		}
		if left, err = p.conn.uncopied(); err != nil {
			return
		}
	}
	p.nearEnd.Store(true)
}

// committed is called by the writer after each commit, when it has replied.
func (p *checkpointer) committed(w *sqliteConn) {
	if p.nearEnd.Swap(false) {
		_ = w.copyLog() // see follow
		return
	}
	if left, err := w.uncopied(); err == nil && left >= p.begin {
		select {
		case p.wanted <- struct{}{}:
		default: // is told already
		}
	}
}

// uncopied returns how many pages of the log are not in the database file.
func (c *sqliteConn) uncopied() (int64, error) {
	log, copied, err := c.checkpoint("PRAGMA wal_checkpoint(NOOP)")
	return log - copied, err
}

// copyLog copies as much of the log as readers and others that copy allow, and flushes it.
func (c *sqliteConn) copyLog() error {
	_, _, err := c.checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
	return err
}

// checkpoint returns how many pages the log has and how many of them are copied.
func (c *sqliteConn) checkpoint(text string) (log, copied int64, err error) {
	var r record
	err = c.records(context.Background(), text, nil, &r, func() error {
		log, copied = r.integer(1), r.integer(2)
		return r.err
	})
	return log, copied, errors.Join(err, r.err)
}
