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

	// gateWait is how long a request may wait for its turn, as things go when it comes. What would wait longer is refused
	// at once.
	gateWait = 500 * time.Millisecond

	// gatePatience is how much longer than that a request waits that was let in. A refusal has to come at once or hardly
	// ever: one that comes late has cost the client the time, and the server the work.
	gatePatience = 3
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
	coming  comers
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
	g.coming.count(g.wait)
	admitted := g.coming.leave(ctx)
	if g.running < g.limit {
		g.running++
		g.mu.Unlock()
		return time.Now(), nil
	}
	if !admitted && g.waiting.Len() >= g.room() {
		g.refused++
		g.mu.Unlock()
		return time.Time{}, errOverloaded
	}
	t := &turn{done: make(chan struct{})}
	e := g.waiting.PushBack(t)
	g.mu.Unlock()
	timeout := time.NewTimer(g.wait * gatePatience)
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

// leave gives the turn to the transaction that has waited the longest, and refuses those that would wait far too long.
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
	for room := gatePatience * g.room(); g.waiting.Len() > room; {
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

// Load tells how many transactions of requests run and wait, and how many were refused since the start.
func (s *Store) Load() (running, waiting int, refused int64) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return s.gate.running, s.gate.waiting.Len(), s.gate.refused
}
