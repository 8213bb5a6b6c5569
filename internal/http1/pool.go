package http1

import (
	"container/list"
	"sync"
	"time"
)

// pool holds idle connections, each for a time at most. When there are too many, the one that is idle for the longest
// time is closed.
type pool struct {
	max  int
	life time.Duration

	mu       sync.Mutex
	all      list.List                       // of *conn; the last one used is last, here
	to       map[destination][]*list.Element // and here
	sweeping bool                            // sweep will be called
}

func newPool(most int, life time.Duration) *pool {
	return &pool{max: most, life: life, to: make(map[destination][]*list.Element)}
}

// take returns the connection that was used last, so that those which are not needed grow old; nil: none is idle.
func (p *pool) take(to destination) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.to[to]
	if len(idle) == 0 {
		return nil
	}
	last := len(idle) - 1
	return p.remove(idle[last], idle[:last])
}

// put keeps a connection.
func (p *pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.idleSince = time.Now()
	p.to[c.to] = append(p.to[c.to], p.all.PushBack(c))
	if p.all.Len() > p.max {
		p.closeFirst()
	}
	if !p.sweeping {
		p.sweepIn(p.life)
	}
}

// remove is called with the lock, like all that follows. rest are the other connections to the same destination.
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
