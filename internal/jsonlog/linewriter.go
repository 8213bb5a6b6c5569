package jsonlog

import (
	"io"
	"sync"
	"time"
)

// maxPending is how much of a log is kept while whoever reads it is slow. Beyond it, requests wait for it.
const maxPending = 8 << 20

// gatherFor is how long lines of requests are gathered that come right after others: a system call for each would cost
// a request more than all else about its line.
const gatherFor = 2 * time.Millisecond

// lineWriter writes the lines of a log in their order. While one is being written, which takes as long as whoever reads
// the log wants, others are gathered and written after it: a request does not wait for the lines of all others.
type lineWriter struct {
	w io.Writer

	mu        sync.Mutex
	changed   sync.Cond // of what follows
	writing   bool
	wrote     time.Time // when the last write ended
	gathering bool      // a timer will write what is pending
	pending   []byte
	spare     []byte // to be used again
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.changed.L = &l.mu
	return l
}

// Write writes a line after those that were gathered, or keeps it while others are written.
func (l *lineWriter) Write(line []byte) (int, error) {
	l.add(line, false)
	return len(line), nil
}

// add is Write; one of many is kept for a moment where another was written just before.
func (l *lineWriter) add(line []byte, oneOfMany bool) {
	l.mu.Lock()
	for l.writing && len(l.pending) > maxPending {
		l.changed.Wait()
	}
	l.pending = append(l.pending, line...)
	switch {
	case l.writing:
	case oneOfMany && (l.gathering || time.Since(l.wrote) < gatherFor):
		if !l.gathering {
			l.gathering = true
			time.AfterFunc(gatherFor, l.drain)
		}
	default:
		l.write()
		if len(l.pending) > 0 {
			go l.drain()
		}
	}
	l.mu.Unlock()
}

// write writes what is pending. The caller holds the lock, which is free meanwhile.
func (l *lineWriter) write() {
	lines := l.pending
	l.writing, l.pending, l.spare = true, l.spare[:0], nil
	l.changed.Broadcast()
	l.mu.Unlock()
	_, _ = l.w.Write(lines) // like slog
	l.mu.Lock()
	l.writing, l.wrote, l.spare = false, time.Now(), lines
	l.changed.Broadcast()
}

// drain writes what has been gathered, until there is nothing.
func (l *lineWriter) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gathering = false
	for len(l.pending) > 0 && !l.writing {
		l.write()
	}
}

// flush waits until all lines are written.
func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing || len(l.pending) > 0 {
		l.changed.Wait()
	}
}
