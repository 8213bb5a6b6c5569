package sqlite

import (
	"sync"
	"sync/atomic"

	"github.com/assayhq/assay/internal/pause"
)

// Checkpointer copies committed pages from SQLite's log (the file -wal) to the database file, on a connection of its
// own, while the writer goes on. SQLite itself would do that within a commit, after every thousand pages, and all that
// wait for the commit would wait for two more flushes. The end of the log is left to the writer: only where nothing is
// committed meanwhile is all of the log copied, and only then does SQLite begin it anew.
type Checkpointer struct {
	conn    *Conn
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

// NoAutoCheckpoint is the pragma of connections that write: the Checkpointer makes the checkpoints, not SQLite itself.
const NoAutoCheckpoint = "wal_autocheckpoint(0)"

// LogLimit is for the connection that writes: a log that has grown beyond 64 MB, because a snapshot was open for long,
// is cut when it is begun anew. A usual one is shorter, and its file stays as long as it is.
const LogLimit = "journal_size_limit(67108864)"

// NewCheckpointer opens a connection to a database. Start has to follow.
func NewCheckpointer(path string) (*Checkpointer, error) {
	c, err := Open(URI(path), Pragmas(NoAutoCheckpoint))
	if err != nil {
		return nil, err
	}
	return &Checkpointer{conn: c, begin: longLog, wanted: make(chan struct{}, 1)}, nil
}

// Start begins to work until the writer ends. What is left then SQLite copies when the last connection is closed.
func (p *Checkpointer) Start(writer <-chan struct{}) {
	p.running.Go(func() {
		for {
			select {
			case <-p.wanted:
				p.follow()
			case <-writer:
				p.err = p.conn.Close()
				return
			}
		}
	})
}

// Wait returns when it has ended.
func (p *Checkpointer) Wait() error {
	p.running.Wait()
	return p.err
}

// follow copies the log until it has almost caught up with the writer. An error is not reported: the log keeps what
// could not be copied, and where the disk fails for good the next commit says so.
func (p *Checkpointer) follow() {
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

// Committed is called by the writer after each commit, when it has replied.
func (p *Checkpointer) Committed(w *Conn) {
	if p.nearEnd.Swap(false) {
		_ = w.copyLog() // see follow
		return
	}
	if left, err := w.uncopied(); err == nil && left >= p.begin {
		pause.Signal(p.wanted)
	}
}

// uncopied returns how many pages of the log are not in the database file.
func (c *Conn) uncopied() (int64, error) {
	log, copied, err := c.checkpoint("PRAGMA wal_checkpoint(NOOP)")
	return log - copied, err
}

// copyLog copies as much of the log as readers and others that copy allow, and flushes it.
func (c *Conn) copyLog() error {
	_, _, err := c.checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
	return err
}

// checkpoint returns how many pages the log has and how many of them are copied.
func (c *Conn) checkpoint(text string) (log, copied int64, err error) {
	s, err := c.Query(text, nil)
	if err != nil {
		return 0, 0, err
	}
	defer s.Reset()
	if more, err := s.Step(); err != nil || !more {
		return 0, 0, err
	}
	return s.Value(1).Integer(), s.Value(2).Integer(), nil
}
