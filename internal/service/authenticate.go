package service

import (
	"context"
	"errors"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
)

const (
	// keyCacheLife saves most look-ups of keys; a revocation by any node or command is felt everywhere within a second.
	keyCacheLife = 500 * time.Millisecond

	keyCacheSize = 10_000

	// keyUseGap is how stale the time of a key's last use may be: a key in use writes to the database at most this often.
	keyUseGap = time.Minute
)

// Authenticate returns the API key behind a bearer token that came from an address, or access.Unauthenticated, which is
// the same for missing, malformed, unknown, revoked and expired keys. A valid key that may not be used from there is
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
		k, err = s.store.KeyByHash(ctx, hash)
		if errors.Is(err, store.ErrNotFound) {
			return nil, access.Unauthenticated
		}
		if err != nil {
			return nil, err
		}
		s.keys.Put(hash, k, now)
		if k.UsableAt(now) && k.Networks.Allow(address) {
			s.recordKeyUse(k, now)
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

// recordKeyUse saves the time of a key's use, without the request waiting for it. What is lost when the program ends is
// a minute of precision.
func (s *Service) recordKeyUse(k *access.Key, now time.Time) {
	if _, recorded := s.keyUses.Get(k.ID, now); recorded {
		return
	}
	s.keyUses.Put(k.ID, struct{}{}, now)
	go func() {
		err := s.store.Update(context.Background(), func(tx *store.Tx) error { return tx.TouchKey(k.ID, now) })
		if err != nil {
			s.log.Debug("the use of a key was not recorded", "key", k.ID, "error", err)
		}
	}()
}
