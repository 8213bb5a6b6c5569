package admission

import (
	"context"
	"time"
)

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
