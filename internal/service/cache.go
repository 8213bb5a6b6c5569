package service

import (
	"sync"
	"time"
)

// cacheSize bounds each cache. A full one is emptied: that is rare, and cheaper than keeping an order.
const cacheSize = 10_000

// ttlCache keeps values for a short time, so that what another node or command changes is seen everywhere soon.
type ttlCache[K comparable, V any] struct {
	life    time.Duration
	mu      sync.RWMutex
	entries map[K]cached[V]
}

type cached[V any] struct {
	value  V
	loaded time.Time
}

func newCache[K comparable, V any](life time.Duration) *ttlCache[K, V] {
	return &ttlCache[K, V]{life: life, entries: make(map[K]cached[V])}
}

func (c *ttlCache[K, V]) get(key K, now time.Time) (value V, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	if !ok || !c.fresh(e, now) {
		return value, false
	}
	return e.value, true
}

func (c *ttlCache[K, V]) fresh(e cached[V], now time.Time) bool {
	return now.Sub(e.loaded) < c.life && !now.Before(e.loaded)
}

func (c *ttlCache[K, V]) put(key K, value V, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, value, now)
}

func (c *ttlCache[K, V]) set(key K, value V, now time.Time) {
	if len(c.entries) >= cacheSize {
		clear(c.entries)
	}
	c.entries[key] = cached[V]{value, now}
}

// add puts the value if the key has none, and reports whether it did.
func (c *ttlCache[K, V]) add(key K, value V, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok && c.fresh(e, now) {
		return false
	}
	c.set(key, value, now)
	return true
}

// drop empties the cache.
func (c *ttlCache[K, V]) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}
