package store

import (
	line "container/list"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// gateRunning is how many transactions of requests run, or wait for a connection or a group, at the same time.
	gateRunning = 128

	// gateWait is how long a request may wait for its turn, as things go. What would wait longer is refused at once, and
	// what does wait longer, by a half, then.
	gateWait = 500 * time.Millisecond
)

var errOverloaded = errors.New("more transactions wait than the database can take within a second")

// gate refuses transactions that would have to wait too long, so that under overload those that are accepted end soon
// and the others know at once.
type gate struct {
	limit int
	wait  time.Duration

	mu      sync.Mutex
	running int
	waiting line.List     // of *turn
	mean    time.Duration // of a transaction, over the last ones
	refused int64
}

type turn struct {
	granted bool
	done    chan struct{} // closed when it is granted or refused
}

func newGate() *gate { return &gate{limit: gateRunning, wait: gateWait} }

type unhurriedKey struct{}

// Unhurried returns a context for background work, whose transactions are never refused because of overload.
func Unhurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhurriedKey{}, true)
}

// enter waits for the turn of a transaction. After it, the caller calls leave with the result.
func (g *gate) enter(ctx context.Context) (began time.Time, err error) {
	if ctx.Value(unhurriedKey{}) != nil {
		return time.Time{}, nil
	}
	g.mu.Lock()
	if g.running < g.limit {
		g.running++
		g.mu.Unlock()
		return time.Now(), nil
	}
	if g.waiting.Len() >= g.room() {
		g.refused++
		g.mu.Unlock()
		return time.Time{}, errOverloaded
	}
	t := &turn{done: make(chan struct{})}
	e := g.waiting.PushBack(t)
	g.mu.Unlock()
	timeout := time.NewTimer(g.wait * 3 / 2)
	defer timeout.Stop()
	select {
	case <-t.done:
	case <-timeout.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.granted {
		return time.Now(), nil
	}
	g.waiting.Remove(e)
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	g.refused++
	return time.Time{}, errOverloaded
}

// leave gives the turn to the transaction that has waited the longest, and refuses those that would wait too long.
func (g *gate) leave(began time.Time) {
	if began.IsZero() {
		return
	}
	took := time.Since(began)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mean += (took - g.mean) / 16
	if next := g.waiting.Front(); next != nil {
		g.end(next, true)
	} else {
		g.running--
	}
	for room := g.room(); g.waiting.Len() > room; {
		g.end(g.waiting.Back(), false)
	}
}

func (g *gate) end(e *line.Element, granted bool) {
	t := g.waiting.Remove(e).(*turn)
	t.granted = granted
	close(t.done)
}

// room is how many may wait: as many as get their turn in time, as things go.
func (g *gate) room() int {
	return int(int64(g.limit) * int64(g.wait) / int64(max(g.mean, time.Millisecond)))
}

// Overloaded reports whether a transaction that came now would be refused. Whoever asks first is spared the work of a
// request that ends with that.
func (s *Store) Overloaded() bool {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	full := s.gate.running >= s.gate.limit && s.gate.waiting.Len() >= s.gate.room()
	if full {
		s.gate.refused++
	}
	return full
}

// Load tells how many transactions of requests run and wait, and how many were refused since the start.
func (s *Store) Load() (running, waiting int, refused int64) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return s.gate.running, s.gate.waiting.Len(), s.gate.refused
}
