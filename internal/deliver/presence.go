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
	presenceLifetime = 5 * time.Second        // without a sign of life
	joinPause        = 750 * time.Millisecond // until all others have made room for a new sender
)

// presence divides the slots of each endpoint among the senders at work on one database: each has a row there, and all
// reckon alike.
type presence struct {
	mu     sync.Mutex
	nodes  int // at work; 0: this one may not send yet
	number int // of this one among them, from 0
}

// share returns how many attempts this sender may have in flight for the endpoint. What cannot be divided evenly goes to
// other senders for other endpoints.
func (p *presence) share(endpointID string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.nodes {
	case 0:
		return 0
	case 1:
		return maxForEndpoint
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(endpointID))
	share := maxForEndpoint / p.nodes
	if (p.number+int(h.Sum32()%uint32(p.nodes)))%p.nodes < maxForEndpoint%p.nodes { //nolint:gosec // a handful of nodes
		share++
	}
	return share
}

// set takes over who is at work and says whether that is news.
func (p *presence) set(nodes, number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := p.nodes != nodes || p.number != number
	p.nodes, p.number = nodes, number
	return news
}

// attend shows the others that this sender is at work, until ctx ends. A sender that finds others at work waits until
// they have made room.
func (s *Sender) attend(ctx context.Context) {
	first := true
	for ctx.Err() == nil {
		ids, err := s.showUp(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "the senders at work could not be counted", "error", err)
			}
			sleep(ctx, presenceInterval)
			continue
		}
		if first && len(ids) > 1 {
			sleep(ctx, joinPause)
		}
		first = false
		if s.presence.set(len(ids), slices.Index(ids, s.node)) {
			notify(s.woken)
		}
		sleep(ctx, presenceInterval)
	}
}

func (s *Sender) showUp(ctx context.Context) (ids []string, err error) {
	err = s.Store.Update(ctx, func(tx *store.Tx) error {
		now := s.Now()
		ids, err = tx.SenderSeen(s.node, now, now.Add(-presenceLifetime))
		return err
	})
	return ids, err
}

// leave tells the others that this sender has ended; if that fails, they find out.
func (s *Sender) leave(ctx context.Context) {
	s.presence.set(0, 0)
	if err := s.Store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.SenderGone(s.node) }); err != nil {
		s.Log.WarnContext(ctx, "the end of this sender could not be noted", "error", err)
	}
}
