package deliver

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	presenceInterval = 500 * time.Millisecond
	presenceLifetime = 5 * time.Second // without a sign of life
)

// presence divides the endpoints among the senders at work on one database: each sender has a row there, and all reckon
// alike. It decides who should have a queue; the lease decides who has it.
type presence struct {
	mu    sync.Mutex
	nodes []string // at work; empty: this one alone
}

// set takes over who is at work and says whether that is news.
func (p *presence) set(nodes []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := !slices.Equal(p.nodes, nodes)
	p.nodes = nodes
	return news
}

// chooses says whether the node is the one to send to the endpoint. When nodes come and go, only the endpoints of these
// change hands.
func (p *presence) chooses(node, endpointID string) bool {
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

// scatter spreads what FNV leaves close together for texts that differ in their end.
func scatter(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

func (s *Sender) mine(endpointID string) bool { return s.presence.chooses(s.node, endpointID) }

// attend shows the others that this sender is at work, until ctx ends.
func (s *Sender) attend(ctx context.Context) {
	for ctx.Err() == nil {
		var nodes []string
		err := s.Store.Update(ctx, func(tx *store.Tx) (err error) {
			now := s.Now()
			nodes, err = tx.SenderSeen(s.node, now, now.Add(-presenceLifetime))
			return err
		})
		switch {
		case err == nil:
			if s.presence.set(nodes) {
				notify(s.woken)
			}
		case ctx.Err() == nil:
			s.Log.WarnContext(ctx, "the senders at work could not be counted", "error", err)
		}
		sleep(ctx, presenceInterval)
	}
}

// leave tells the others that this sender has ended, with the queues it had; if that fails, they find out.
func (s *Sender) leave(ctx context.Context) {
	if err := s.Store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.SenderGone(s.node)
	}); err != nil {
		s.Log.WarnContext(ctx, "the end of this sender could not be noted", "error", err)
	}
}
