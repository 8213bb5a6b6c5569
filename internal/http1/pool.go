package http1

import (
	"container/list"
	"slices"
	"sync"
	"time"
)

// pool holds idle connections, each for a time at most, and gives those that become idle to whoever waits for one. When
// there are too many, the one that is idle for the longest time is closed.
type pool struct {
	max  int
	life time.Duration

	mu       sync.Mutex
	all      list.List                       // of *conn; the last one used is last, here
	to       map[destination][]*list.Element // and here
	waiting  map[destination][]chan *conn    // who came first is first
	sweeping bool                            // sweep will be called
}

func newPool(most int, life time.Duration) *pool {
	return &pool{
		max: most, life: life, to: make(map[destination][]*list.Element), waiting: make(map[destination][]chan *conn),
	}
}

// take returns the connection that was used last, so that those which are not needed grow old. If none is idle, it
// returns a channel that gets the next one, until leave is called.
func (p *pool) take(to destination) (*conn, chan *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.to[to]
	if len(idle) == 0 {
		next := make(chan *conn, 1)
		p.waiting[to] = append(p.waiting[to], next)
		return nil, next
	}
	last := len(idle) - 1
	return p.remove(idle[last], idle[:last]), nil
}

// leave ends the wait for a connection. One that has come is kept, or goes to another who waits.
func (p *pool) leave(to destination, next chan *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting[to], next); i >= 0 {
		p.setWaiting(to, slices.Delete(p.waiting[to], i, i+1))
	}
	select {
	case c := <-next:
		p.keep(c)
	default:
	}
}

// put keeps a connection, or gives it away.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(c)
}

// keep is called with the lock, like all that follows.
func (p *pool) keep(c *conn) {
	if all := p.waiting[c.to]; len(all) > 0 {
		all[0] <- c
		p.setWaiting(c.to, all[1:])
		return
	}
	c.idleSince = time.Now()
	p.to[c.to] = append(p.to[c.to], p.all.PushBack(c))
	if p.all.Len() > p.max {
		p.closeFirst()
	}
	if !p.sweeping {
		p.sweepIn(p.life)
	}
}

func (p *pool) setWaiting(to destination, all []chan *conn) {
	if p.waiting[to] = all; len(all) == 0 {
		delete(p.waiting, to)
	}
}

// remove removes a connection. rest are the others to the same destination.
func (p *pool) remove(e *list.Element, rest []*list.Element) *conn {
	c := p.all.Remove(e).(*conn)
	if p.to[c.to] = rest; len(rest) == 0 {
		delete(p.to, c.to)
	}
	return c
}

// closeFirst closes the connection that was used first, beside the lock: it may say goodbye.
func (p *pool) closeFirst() {
	first := p.all.Front()
	c := p.remove(first, p.to[first.Value.(*conn).to][1:])
	go func() { _ = c.Close() }()
}

// sweepIn closes the connections after a time that are too old by then.
func (p *pool) sweepIn(d time.Duration) {
	p.sweeping = true
	time.AfterFunc(d, p.sweep)
}

// sweep is called without the lock.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweeping = false
	for now := time.Now(); p.all.Len() > 0; {
		if left := p.life - now.Sub(p.all.Front().Value.(*conn).idleSince); left > 0 {
			p.sweepIn(left)
			return
		}
		p.closeFirst()
	}
}
