package service

import (
	"context"
	"errors"
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
	k, ok := s.keys.Get(hash, now)
	if !ok {
		var err error
		k, err = s.Store.KeyByHash(ctx, hash)
		if errors.Is(err, store.ErrNotFound) {
			return nil, access.Unauthenticated
		}
		if err != nil {
			return nil, err
		}
		s.keys.Put(hash, k, now)
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

// A key lives in the cache for half a second, so that a revocation by any node or command is felt everywhere within one.
const (
	keyCacheLife = 500 * time.Millisecond
	keyCacheSize = 10_000
)
