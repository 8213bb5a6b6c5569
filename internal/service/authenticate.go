package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
)

// Authenticate returns the API key behind a bearer token that came from an address, or access.Unauthenticated, which is the
// same for missing, malformed, unknown, revoked and expired keys. A valid key that may not be used from there is
// access.WrongNetwork, and not noted as used.
func (s *Service) Authenticate(ctx context.Context, token, address string) (*access.Key, error) {
	if _, ok := access.ParseSecretKey(token); !ok {
		return nil, access.Unauthenticated
	}
	now := s.now()
	hash := access.HashSecretKey(token)
	k := s.keys.get(hash, now)
	if k == nil {
		var err error
		k, err = s.Store.KeyByHash(ctx, hash)
		if errors.Is(err, store.ErrNotFound) {
			return nil, access.Unauthenticated
		}
		if err != nil {
			return nil, err
		}
		s.keys.put(hash, k, now)
		if k.UsableAt(now) && k.Networks.Allow(address) {
			s.noteKeyUse(k, now)
		}
	}
	if !k.UsableAt(now) {
		return nil, access.Unauthenticated
	}
	if !k.Networks.Allow(address) {
		return nil, access.WrongNetwork(address)
	}
	return k, nil
}

// keyCache saves most look-ups of keys. An entry lives for half a second, so that a revocation by any node or command
// is felt everywhere within one.
type keyCache struct {
	mu      sync.RWMutex
	entries map[string]cachedKey
}

type cachedKey struct {
	key    *access.Key
	loaded time.Time
}

const (
	keyCacheLife = 500 * time.Millisecond
	keyCacheSize = 10_000
)

func newKeyCache() *keyCache { return &keyCache{entries: make(map[string]cachedKey)} }

func (c *keyCache) get(hash string, now time.Time) *access.Key {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[hash]
	if !ok || now.Sub(e.loaded) >= keyCacheLife || now.Before(e.loaded) {
		return nil
	}
	return e.key
}

func (c *keyCache) put(hash string, k *access.Key, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= keyCacheSize {
		clear(c.entries) // only known keys get in: this is rare, and cheaper than keeping an order
	}
	c.entries[hash] = cachedKey{key: k, loaded: now}
}

func (c *keyCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}
