// Package ttlcache keeps values in memory for a fixed short time.
package ttlcache

import (
	"sync"
	"time"
)

// Cache keeps values by key. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	life time.Duration
	size int

	mu      sync.RWMutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value  V
	loaded time.Time
}

// New returns a cache whose entries live for a time. It is emptied when it has size entries: that is for keys that only
// valid callers can add, where it is rare.
func New[K comparable, V any](life time.Duration, size int) *Cache[K, V] {
	return &Cache[K, V]{life: life, size: size, entries: make(map[K]entry[V])}
}

// Get returns the value of the key, unless it is missing or too old at the time now.
func (c *Cache[K, V]) Get(key K, now time.Time) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	if !ok || !c.fresh(e, now) {
		var none V
		return none, false
	}
	return e.value, true
}

// Put sets the value of the key. An entry that is still alive keeps its age: use does not make it live longer.
func (c *Cache[K, V]) Put(key K, value V, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	loaded := now
	if e, ok := c.entries[key]; ok && c.fresh(e, now) {
		loaded = e.loaded
	} else if len(c.entries) >= c.size {
		clear(c.entries)
	}
	c.entries[key] = entry[V]{value: value, loaded: loaded}
}

// Clear removes all entries.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

// fresh reports whether an entry can be used. One from the future belongs to a clock that was set back.
func (c *Cache[K, V]) fresh(e entry[V], now time.Time) bool {
	return now.Sub(e.loaded) < c.life && !now.Before(e.loaded)
}
