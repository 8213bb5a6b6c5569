// Package ttlcache keeps values in memory for a fixed short time.
package ttlcache

import (
	"sync"
	"time"
)

// Cache keeps values by key. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	life   time.Duration
	size   int
	weight func(V) int

	mu      sync.RWMutex
	entries map[K]entry[V]
	used    int // of size
	cleared int // how often
}

type entry[V any] struct {
	value  V
	loaded time.Time
}

// New returns a cache whose entries live for a time. It is emptied when it has size entries: that is for keys that only
// valid callers can add, where it is rare.
func New[K comparable, V any](life time.Duration, size int) *Cache[K, V] {
	return NewWeighted[K](life, size, func(V) int { return 1 })
}

// NewWeighted is New for values of different sizes, such as bytes: those in the cache have size together. One that is
// larger alone is not kept.
func NewWeighted[K comparable, V any](life time.Duration, size int, weight func(V) int) *Cache[K, V] {
	return &Cache[K, V]{life: life, size: size, weight: weight, entries: make(map[K]entry[V])}
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

// Load is Get for a value that load reads where it is not there. What was read before a Clear is not kept after it.
func (c *Cache[K, V]) Load(key K, now time.Time, load func() (V, error)) (V, error) {
	if v, ok := c.Get(key, now); ok {
		return v, nil
	}
	c.mu.RLock()
	cleared := c.cleared
	c.mu.RUnlock()
	v, err := load()
	if err != nil {
		return v, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cleared == cleared {
		c.put(key, v, now)
	}
	return v, nil
}

// Put sets the value of the key. An entry that is still alive keeps its age: use does not make it live longer.
func (c *Cache[K, V]) Put(key K, value V, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, now)
}

func (c *Cache[K, V]) put(key K, value V, now time.Time) {
	loaded := now
	if e, ok := c.entries[key]; ok && c.fresh(e, now) {
		loaded = e.loaded
	}
	c.remove(key)
	weight := c.weight(value)
	if weight > c.size {
		return
	}
	if c.used+weight > c.size {
		c.clear()
	}
	c.entries[key] = entry[V]{value: value, loaded: loaded}
	c.used += weight
}

// Remove removes the entry of the key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *Cache[K, V]) remove(key K) {
	if e, ok := c.entries[key]; ok {
		c.used -= c.weight(e.value)
		delete(c.entries, key)
	}
}

// Clear removes all entries.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cleared++
	c.clear()
}

func (c *Cache[K, V]) clear() {
	clear(c.entries)
	c.used = 0
}

// fresh reports whether an entry can be used. One from the future belongs to a clock that was set back.
func (c *Cache[K, V]) fresh(e entry[V], now time.Time) bool {
	return now.Sub(e.loaded) < c.life && !now.Before(e.loaded)
}
