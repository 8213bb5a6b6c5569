package store

import (
	"context"
	"sync"
)

// turns lets few transactions at a time go for the same row. In PostgreSQL the others would wait for its lock with a
// connection each, and one busy account would take the whole pool from everybody.
type turns struct {
	mu    sync.Mutex
	byKey map[string]*turn
}

// turn is the queue of one row; it goes when nobody is in it.
type turn struct {
	places chan struct{}
	users  int
}

// atOnce is how many transactions of one row run at a time: one holds the lock, the next ones do what comes before it.
const atOnce = 4

// take waits for a place at the row. The caller gives it back with the function that take returns.
func (t *turns) take(ctx context.Context, key string) (leave func(), err error) {
	q := t.enter(key)
	select {
	case q.places <- struct{}{}:
		return func() {
			<-q.places
			t.exit(key, q)
		}, nil
	case <-ctx.Done():
		t.exit(key, q)
		return nil, ctx.Err()
	}
}

func (t *turns) enter(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.byKey[key]
	if q == nil {
		if t.byKey == nil {
			t.byKey = make(map[string]*turn)
		}
		q = &turn{places: make(chan struct{}, atOnce)}
		t.byKey[key] = q
	}
	q.users++
	return q
}

func (t *turns) exit(key string, q *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.byKey, key)
	}
}
