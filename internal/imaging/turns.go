package imaging

import (
	"context"
	"slices"
	"sync"
)

// turns hands out a number of places to accounts that wait for them: to each in its turn, however much work each has,
// and of the places at most so many to one account that another finds one.
type turns struct {
	mu    sync.Mutex
	free  int
	most  int // places of one account
	taken map[string]int
	queue map[string][]chan struct{} // who wait, by account; closed when a place is theirs
	order []string                   // accounts that wait; the first is the next
}

// newTurns returns turns for a number of places, of which one account takes at most some.
func newTurns(places, most int) *turns {
	return &turns{free: places, most: most, taken: make(map[string]int), queue: make(map[string][]chan struct{})}
}

// take waits for a place and returns what gives it back. The error is that of the context.
func (t *turns) take(ctx context.Context, account string) (giveBack func(), err error) {
	t.mu.Lock()
	mine := make(chan struct{})
	if len(t.queue[account]) == 0 {
		t.order = append(t.order, account)
	}
	t.queue[account] = append(t.queue[account], mine)
	t.hand()
	t.mu.Unlock()
	giveBack = sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.free++
		if t.taken[account]--; t.taken[account] == 0 {
			delete(t.taken, account)
		}
		t.hand()
	})
	select {
	case <-mine:
		return giveBack, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	at := slices.Index(t.queue[account], mine)
	if at >= 0 {
		t.leave(account, at)
	}
	t.mu.Unlock()
	if at < 0 { // it was handed one meanwhile
		giveBack()
	}
	return nil, ctx.Err()
}

// hand gives free places to the accounts whose turn it is.
func (t *turns) hand() {
	for i := 0; t.free > 0 && i < len(t.order); {
		account := t.order[i]
		if t.taken[account] >= t.most {
			i++
			continue
		}
		t.free--
		t.taken[account]++
		close(t.queue[account][0])
		t.leave(account, 0)
		if i < len(t.order) && t.order[i] == account { // it waits for more: behind all others
			t.order = append(slices.Delete(t.order, i, i+1), account)
		}
		i = 0
	}
}

// leave removes one who waits.
func (t *turns) leave(account string, at int) {
	t.queue[account] = slices.Delete(t.queue[account], at, at+1)
	if len(t.queue[account]) == 0 {
		delete(t.queue, account)
		t.order = slices.DeleteFunc(t.order, func(a string) bool { return a == account })
	}
}

type accountKey struct{}

// OfAccount returns a context for work on photos of an account, which then takes the account's turn. Where a caller
// does not know the account, the cache asks for it before it decodes a photo.
func OfAccount(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, accountKey{}, id)
}

// accountOf returns the account whose photos are worked on, empty when it is not known.
func accountOf(ctx context.Context) string {
	id, _ := ctx.Value(accountKey{}).(string)
	return id
}
