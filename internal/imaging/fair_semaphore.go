package imaging

import (
	"context"
	"slices"
	"sync"
)

// fairSemaphore hands out a number of places to accounts that wait for them: to one account after the other, however
// many of each wait, and at most some to one account, so that another finds a free one.
type fairSemaphore struct {
	mu    sync.Mutex
	free  int
	limit int // places of one account
	taken map[string]int
	queue map[string][]chan struct{} // who wait, by account; closed when a place is theirs
	order []string                   // accounts that wait; the first is the next
}

// newFairSemaphore returns a semaphore with a number of places, of which one account takes at most limit.
func newFairSemaphore(places, limit int) *fairSemaphore {
	return &fairSemaphore{
		free: places, limit: limit, taken: make(map[string]int), queue: make(map[string][]chan struct{}),
	}
}

// acquire waits for a place and returns what gives it back. The error is that of the context.
func (s *fairSemaphore) acquire(ctx context.Context, account string) (release func(), err error) {
	s.mu.Lock()
	mine := make(chan struct{})
	if len(s.queue[account]) == 0 {
		s.order = append(s.order, account)
	}
	s.queue[account] = append(s.queue[account], mine)
	s.assign()
	s.mu.Unlock()
	release = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free++
		if s.taken[account]--; s.taken[account] == 0 {
			delete(s.taken, account)
		}
		s.assign()
	})
	select {
	case <-mine:
		return release, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	at := slices.Index(s.queue[account], mine)
	if at >= 0 {
		s.leave(account, at)
	}
	s.mu.Unlock()
	if at < 0 { // a place was assigned meanwhile
		release()
	}
	return nil, ctx.Err()
}

// assign gives free places to the accounts whose turn it is.
func (s *fairSemaphore) assign() {
	for i := 0; s.free > 0 && i < len(s.order); {
		account := s.order[i]
		if s.taken[account] >= s.limit {
			i++
			continue
		}
		s.free--
		s.taken[account]++
		close(s.queue[account][0])
		s.leave(account, 0)
		if i < len(s.order) && s.order[i] == account { // it waits for more: behind all others
			s.order = append(slices.Delete(s.order, i, i+1), account)
		}
		i = 0
	}
}

// leave removes one who waits.
func (s *fairSemaphore) leave(account string, at int) {
	s.queue[account] = slices.Delete(s.queue[account], at, at+1)
	if len(s.queue[account]) == 0 {
		delete(s.queue, account)
		s.order = slices.DeleteFunc(s.order, func(a string) bool { return a == account })
	}
}

type accountKey struct{}

// OfAccount returns a context for work on photos of an account, which then waits for a place of that account. Where a
// caller does not know the account, the cache asks for it before it decodes a photo.
func OfAccount(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, accountKey{}, id)
}

// accountOf returns the account whose photos are worked on, empty when it is not known.
func accountOf(ctx context.Context) string {
	id, _ := ctx.Value(accountKey{}).(string)
	return id
}
