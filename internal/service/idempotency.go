package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/store"
)

// IdempotencyWindow is how long an idempotency key stands for its first answer.
const IdempotencyWindow = 24 * time.Hour

// Idempotent is one creation under an idempotency key. The zero value is a creation without one.
type Idempotent struct {
	// Answer is the first answer, when this request repeats it; empty otherwise.
	Answer string

	key, bodyHash string
	end           func()
}

// BeginIdempotent looks up what the key stands for: nothing yet, the first answer to the same body, or a refusal. The
// caller calls End when its request is over.
func (s *Service) BeginIdempotent(
	ctx context.Context, tenant access.Tenant, key string, body []byte,
) (*Idempotent, error) {
	sum := sha256.Sum256(body)
	i := &Idempotent{key: key, bodyHash: hex.EncodeToString(sum[:])}
	scope := runningKey{tenant, key}
	if !s.running.begin(scope) {
		return nil, fault.New(fault.Conflict, "request-in-progress",
			"Another request with this Idempotency-Key is still running.")
	}
	i.end = func() { s.running.end(scope) }
	first, err := s.store.Remembered(ctx, tenant, key, s.now().Add(-IdempotencyWindow))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return i, nil
	case err == nil && first.BodyHash != i.bodyHash:
		err = errOtherBody
	}
	if err != nil {
		i.End()
		return nil, err
	}
	i.Answer = first.Answer
	return i, nil
}

var errOtherBody = fault.BadRequest("This Idempotency-Key was used with another body; a key stands for one request.").
	With("field", "Idempotency-Key")

// End lets the next request with the key in.
func (i *Idempotent) End() {
	if i != nil && i.end != nil {
		i.end()
	}
}

// stored is how the answer is remembered, in the transaction of the creation, which fails when another node was faster
// with the key.
func (i *Idempotent) stored(now time.Time) *store.Idempotency {
	if i == nil {
		return nil
	}
	return &store.Idempotency{Key: i.key, BodyHash: i.bodyHash, Since: now.Add(-IdempotencyWindow)}
}

// errRepeated ends a creation that another node has made under the same key while this one was running.
var errRepeated = fault.New(fault.Conflict, "request-in-progress",
	"Another request with this Idempotency-Key has just run. Repeat the request to read its answer.")

// DeleteOldIdempotencyKeys removes up to limit keys whose time is over, and returns how many.
func (s *Service) DeleteOldIdempotencyKeys(ctx context.Context, limit int) (int, error) {
	before := s.now().Add(-IdempotencyWindow)
	if some, err := s.store.HasIdempotencyKeys(ctx, before); err != nil || !some {
		return 0, err
	}
	var n int64
	err := s.store.Update(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.DeleteOldIdempotencyKeys(before, limit)
		return err
	})
	return int(n), err
}

type runningKey struct {
	access.Tenant
	key string
}

// runningKeys are the idempotency keys whose creation runs on this node now.
type runningKeys struct {
	mu   sync.Mutex
	keys map[runningKey]struct{}
}

func (r *runningKeys) begin(k runningKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.keys[k]; ok {
		return false
	}
	if r.keys == nil {
		r.keys = make(map[runningKey]struct{})
	}
	r.keys[k] = struct{}{}
	return true
}

func (r *runningKeys) end(k runningKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, k)
}
