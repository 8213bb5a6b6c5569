package httpx

import (
	"io"
	"log/slog"
	"sync"
	"time"
)

// maxPending is how much of a log is kept while whoever reads it is slow. Beyond it, requests wait for it.
const maxPending = 8 << 20

// lineWriter writes the lines of a log in their order. While one is being written, which takes as long as whoever reads
// the log wants, others are gathered and written after it: a request does not wait for the lines of all others.
type lineWriter struct {
	w io.Writer

	mu      sync.Mutex
	changed sync.Cond // of what follows
	writing bool
	pending []byte
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.changed.L = &l.mu
	return l
}

// Write writes a line, or keeps it while another one is written.
func (l *lineWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	for l.writing && len(l.pending) > maxPending {
		l.changed.Wait()
	}
	if l.writing {
		l.pending = append(l.pending, line...)
		l.mu.Unlock()
		return len(line), nil
	}
	l.writing = true
	l.mu.Unlock()
	n, err := l.w.Write(line)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) > 0 {
		go l.drain()
	} else {
		l.rest()
	}
	return n, err
}

// rest notes that nothing is being written. The caller holds the lock.
func (l *lineWriter) rest() {
	l.writing = false
	l.changed.Broadcast()
}

// drain writes what has been gathered, until there is nothing.
func (l *lineWriter) drain() {
	var lines []byte
	l.mu.Lock()
	for len(l.pending) > 0 {
		lines, l.pending = l.pending, lines[:0]
		l.changed.Broadcast()
		l.mu.Unlock()
		_, _ = l.w.Write(lines) // like slog
		l.mu.Lock()
	}
	l.rest()
	l.mu.Unlock()
}

// flush waits until all lines are written.
func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing {
		l.changed.Wait()
	}
}

// flushWait is how long the end of a program waits for whoever reads its log.
const flushWait = 2 * time.Second

// FlushLog waits until all lines of a logger of NewJSONLog are written.
func FlushLog(log *slog.Logger) {
	h, ok := log.Handler().(*lineHandler)
	if !ok {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.lines.flush()
	}()
	select {
	case <-done:
	case <-time.After(flushWait):
	}
}
