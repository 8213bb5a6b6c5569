// Package admission refuses requests that would have to wait too long for the database, so that under overload those
// that are accepted end soon and the others know at once.
package admission

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// maxRunning is how many transactions of requests run, or wait for a connection or a group, at the same time.
	maxRunning = 128

	// maxWait is how long a request may wait for its turn, at the rate when it comes. What would wait longer is refused
	// at once.
	maxWait = 500 * time.Millisecond

	// patience is how much longer than that a request waits that was let in. A refusal has to come at once or hardly
	// ever: one that comes late has cost the client the time, and the server the work.
	patience = 3
)

// ErrOverloaded refuses a transaction.
var ErrOverloaded = errors.New("more transactions wait than the database can take within half a second")

// Gate lets some transactions run and some more wait, as many as get their turn in time, and refuses the others.
type Gate struct {
	limit int
	wait  time.Duration

	mu      sync.Mutex
	running int
	waiting list.List     // of *turn
	mean    time.Duration // of a transaction, over the last ones
	coming  arrivals
	refused int64
}

type turn struct {
	granted bool
	done    chan struct{} // closed when it is granted or refused
}

// NewGate returns the gate of a database.
func NewGate() *Gate { return &Gate{limit: maxRunning, wait: maxWait} }

type unhurriedKey struct{}

// Unhurried returns a context for background work, whose transactions are never refused because of overload.
func Unhurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhurriedKey{}, true)
}

// Enter waits for the turn of a transaction. After it, the caller calls Leave with the result, which is zero for
// background work.
func (g *Gate) Enter(ctx context.Context) (began time.Time, err error) {
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
		return time.Time{}, ErrOverloaded
	}
	t := &turn{done: make(chan struct{})}
	e := g.waiting.PushBack(t)
	g.mu.Unlock()
	timeout := time.NewTimer(g.wait * patience)
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
	return time.Time{}, ErrOverloaded
}

// Leave gives the turn to the transaction that has waited the longest, and refuses those that would wait far too long.
func (g *Gate) Leave(began time.Time) {
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
	for room := patience * g.room(); g.waiting.Len() > room; {
		g.end(g.waiting.Back(), false)
	}
}

func (g *Gate) end(e *list.Element, granted bool) {
	t := g.waiting.Remove(e).(*turn)
	t.granted = granted
	close(t.done)
}

// room is how many may wait: as many as get their turn in time at the present rate.
func (g *Gate) room() int {
	return int(int64(g.limit) * int64(g.wait) / int64(max(g.mean, time.Millisecond)))
}

// Load returns how many transactions of requests run and wait, and how many were refused since the start.
func (g *Gate) Load() (running, waiting int, refused int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running, g.waiting.Len(), g.refused
}

// arrivals counts requests that were admitted and are on their way to their transaction. One that takes its time,
// because its body comes slowly, say, is not counted for longer than two windows: it must not keep others out.
type arrivals struct {
	began   time.Time // the clock of the machine may step: windows are counted from here
	window  int64     // the number of the current one
	current [2]int    // who came in it, and in the one before
}

// arrival is an admitted request.
type arrival struct {
	window  int64
	counted bool
}

type arrivalKey struct{}

// count brings the windows up to date and returns who is on the way.
func (c *arrivals) count(length time.Duration) int {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	switch now := int64(time.Since(c.began) / length); now - c.window {
	case 0:
	case 1:
		c.window, c.current = now, [2]int{0, c.current[0]}
	default:
		c.window, c.current = now, [2]int{}
	}
	return c.current[0] + c.current[1]
}

func (c *arrivals) add(r *arrival) {
	r.window, r.counted = c.window, true
	c.current[0]++
}

// remove takes a request out of the count, and tells whether it was admitted a moment ago and has not been here before.
func (c *arrivals) remove(r *arrival) bool {
	age := c.window - r.window
	if !r.counted || age < 0 || age > 1 {
		return false
	}
	r.counted = false
	c.current[age]--
	return true
}

// leave is remove for the request of a context.
func (c *arrivals) leave(ctx context.Context) bool {
	r, ok := ctx.Value(arrivalKey{}).(*arrival)
	return ok && c.remove(r)
}

// Admit decides at its arrival whether a request that writes is served: under overload what is refused has to cost
// little and to be told at once, and what is let in should not be refused later. The transaction of the request takes
// the context; done is called at the end of the request.
func (g *Gate) Admit(ctx context.Context) (admitted context.Context, done func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running+g.waiting.Len()+g.coming.count(g.wait) >= g.limit+g.room() {
		g.refused++
		return ctx, nil, false
	}
	r := new(arrival)
	g.coming.add(r)
	return context.WithValue(ctx, arrivalKey{}, r), func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.coming.count(g.wait)
		g.coming.remove(r)
	}, true
}
