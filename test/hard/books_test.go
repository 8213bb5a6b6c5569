package hard_test

import (
	"maps"
	"slices"
	"sync"
)

// books are what clients were told, kept outside of the program.
type books struct {
	mu       sync.Mutex
	orders   map[string]*entry // by id; somebody may have got an order whose creation has no answer yet
	external map[string]string // external id → order id; empty while nothing was answered
	photos   map[string][]byte // by URL
	waiting  []string          // ids of orders with a photo request
	queued   []string          // ids of orders that may be queued
	holders  map[string]string // order id → desk token of who has claimed it
	twice    []string          // what was done twice, as far as it shows at once
	replayed int
	repeated int // creations sent again because nobody knew
	verdicts int
	cancels  int
	rounds   int
	imported int // the last number of a catalog that was told to be imported
	tried    int // the last number that was to be imported
}

// entry is an order that somebody was told of.
type entry struct {
	created   bool   // acknowledged
	outcome   string // acknowledged
	requested int    // photo requests acknowledged
	unsure    int    // photo requests without an answer
	submitted []string
}

func newBooks() *books {
	return &books{
		orders: make(map[string]*entry), external: make(map[string]string), photos: make(map[string][]byte),
		holders: make(map[string]string),
	}
}

func (b *books) uploaded(url string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.photos[url] = content
}

// creating notes that an order may come to be.
func (b *books) creating(external string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.external[external] = ""
}

func (b *books) again() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.repeated++
}

// created notes an acknowledged order.
func (b *books) created(external, id string, live, replayed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(id)
	if e.created {
		b.twice = append(b.twice, "two creations got the order "+id)
	}
	e.created = true
	b.external[external] = id
	if live {
		b.queued = append(b.queued, id)
	}
	if replayed {
		b.replayed++
	}
}

// entry returns that of an order. The caller holds the lock.
func (b *books) entry(id string) *entry {
	e := b.orders[id]
	if e == nil {
		e = new(entry)
		b.orders[id] = e
	}
	return e
}

// update changes the entry of an order.
func (b *books) update(id string, f func(*entry)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.entry(id))
}

// claimed notes who got an order.
func (b *books) claimed(id, token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if holder, held := b.holders[id]; held && holder != token {
		b.twice = append(b.twice, "two reviewers got the order "+id)
	}
	b.holders[id] = token
}

// letGo notes that an order may come to somebody else from now on.
func (b *books) letGo(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holders, id)
}

// ended notes an acknowledged outcome.
func (b *books) ended(id, outcome string) {
	b.update(id, func(e *entry) {
		if e.outcome != "" {
			b.twice = append(b.twice, "two outcomes of order "+id+": "+e.outcome+", "+outcome)
		}
		e.outcome = outcome
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if outcome == canceled {
		b.cancels++
	} else {
		b.verdicts++
	}
}

func (b *books) wait(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.waiting, id) {
		b.waiting = append(b.waiting, id)
	}
}

// take removes and returns one of a list, or "".
func (b *books) take(list *[]string, choose func(n int) int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(*list) == 0 {
		return ""
	}
	i := choose(len(*list))
	id := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return id
}

// acknowledged returns how many orders were.
func (b *books) acknowledged() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, e := range b.orders {
		if e.created {
			n++
		}
	}
	return n
}

// snapshot returns the orders as they are in the books.
func (b *books) snapshot() (orders map[string]*entry, external map[string]string, photos map[string][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.orders), maps.Clone(b.external), maps.Clone(b.photos)
}
