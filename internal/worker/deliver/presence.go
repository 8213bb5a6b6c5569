package deliver

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/store"
)

const (
	presenceInterval  = 500 * time.Millisecond
	presenceLifetime  = 5 * time.Second // since the last heartbeat
	deregisterTimeout = time.Second
)

// presence assigns endpoints to the senders that work on one database. Every sender writes a heartbeat and computes
// the same assignment. presence decides who should have a queue; the lease decides who has it.
type presence struct {
	mu    sync.Mutex
	nodes []string // active senders; empty: only this one
}

// set replaces the active senders and reports whether they changed.
func (p *presence) set(nodes []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := !slices.Equal(p.nodes, nodes)
	p.nodes = nodes
	return news
}

// owns reports whether the node should send to the endpoint, by rendezvous hashing: when nodes come and go, only
// their endpoints move.
func (p *presence) owns(node, endpointID string) bool {
	p.mu.Lock()
	nodes := p.nodes
	p.mu.Unlock()
	if len(nodes) < 2 {
		return true
	}
	var chosen string
	var highest uint64
	for _, n := range nodes {
		h := fnv.New64a()
		_, _ = h.Write([]byte(endpointID + n))
		if sum := scatter(h.Sum64()); sum >= highest {
			chosen, highest = n, sum
		}
	}
	return chosen == node
}

// scatter mixes the bits, because FNV hashes of texts with different ends are close together.
func scatter(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

func (s *Sender) mine(endpointID string) bool { return s.presence.owns(s.node, endpointID) }

// heartbeat records that this sender is active, until ctx ends.
func (s *Sender) heartbeat(ctx context.Context) {
	for ctx.Err() == nil {
		var nodes []string
		err := s.Store.Update(ctx, func(tx *store.Tx) error {
			now, err := s.SharedNow(tx)
			if err != nil {
				return err
			}
			nodes, err = tx.SenderSeen(s.node, now, now.Add(-presenceLifetime))
			return err
		})
		switch {
		case err == nil:
			if s.presence.set(nodes) {
				pause.Signal(s.wake)
			}
		case ctx.Err() == nil:
			s.Log.WarnContext(ctx, "sender heartbeat could not be recorded", "error", err)
		}
		_ = pause.For(ctx, presenceInterval)
	}
}

// deregister removes this sender and its leases. If that fails, they expire.
func (s *Sender) deregister(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deregisterTimeout)
	defer cancel()
	if err := s.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.SenderGone(s.node)
	}); err != nil {
		s.Log.WarnContext(ctx, "sender could not be deregistered", "error", err)
	}
}
