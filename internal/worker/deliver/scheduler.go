package deliver

import (
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	// maxInFlightPerEndpoint is the maximum number of attempts in flight per endpoint, over all nodes.
	maxInFlightPerEndpoint = 4

	// maxQueuesPerRead is how many queues are read at a time, so that no database query takes long.
	maxQueuesPerRead = 16

	// maxQueues is how many endpoints are remembered; idle ones beyond it are forgotten.
	maxQueues = 4096
)

// scheduler decides which queues are read next and which delivery is sent next. See the package documentation.
type scheduler struct {
	limit    int           // slots: maximum attempts in flight
	minLease time.Duration // required lease time when an attempt starts
	inFlight int
	load     int // in flight and buffered
	queues   map[string]*endpointQueue
	line     []*endpointQueue // waiting to be read
	ready    []*endpointQueue // with a buffered delivery, below maxInFlightPerEndpoint
	busy     []*endpointQueue // with a held delivery, in no order
	turn     int              // where in busy the next look for queues to be checked begins
}

func newScheduler(limit int, minLease time.Duration) *scheduler {
	return &scheduler{limit: limit, minLease: minLease, queues: make(map[string]*endpointQueue)}
}

// observe puts queues with a due delivery into the line, and returns when the next one becomes due: zero if none.
// mine reports which endpoints are this node's.
func (s *scheduler) observe(heads []store.QueueHead, now time.Time, mine func(string) bool) (next time.Time) {
	if len(s.queues) > maxQueues {
		s.forgetIdle()
	}
	for _, h := range heads {
		switch {
		case !mine(h.EndpointID):
		case !h.DueAt.After(now):
			s.observeHead(h, now)
		case next.IsZero() || h.DueAt.Before(next):
			next = h.DueAt
		}
	}
	return next
}

func (s *scheduler) observeHead(h store.QueueHead, now time.Time) {
	q := s.queues[h.EndpointID]
	if q == nil {
		q = &endpointQueue{endpointID: h.EndpointID, held: make(map[string]store.Place)}
		s.queues[h.EndpointID] = q
	}
	if len(q.held) > 0 {
		first, last := q.dueRange()
		if h.DueAt.Before(first) { // a delivery was queued before those that were read
			q.cursor = store.Place{}
		} else if !h.LastDueAt.After(last) { // all due deliveries are held
			return
		}
	}
	if !now.Before(q.pausedUntil) {
		s.enqueue(q)
	}
}

// pause removes the queue from the line until a time.
func (s *scheduler) pause(q *endpointQueue, until time.Time) {
	s.release(q)
	s.requeue(q, false)
	q.pausedUntil = until
}

// notMine returns the leased queues that now belong to another node and have no held delivery. The buffers of what
// belongs to others are released, and it leaves the line.
func (s *scheduler) notMine(mine func(endpointID string) bool) []*endpointQueue {
	var idle []*endpointQueue
	for _, q := range s.queues {
		if mine(q.endpointID) {
			continue
		}
		s.release(q)
		s.requeue(q, false)
		if len(q.held) == 0 && !q.leaseUntil.IsZero() {
			idle = append(idle, q)
		}
	}
	return idle
}

// heldAfter returns the held deliveries that were due after a time.
func (s *scheduler) heldAfter(t time.Time) (ids []string) {
	for _, q := range s.busy {
		for id, place := range q.held {
			if place.DueAt.After(t) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (s *scheduler) enqueue(q *endpointQueue) {
	if !q.waiting {
		q.waiting = true
		s.line = append(s.line, q)
	}
}

// forgetEndpoints lets no attempt start before its endpoint was looked up again.
func (s *scheduler) forgetEndpoints() {
	for _, q := range s.queues {
		q.checkedAt = time.Time{}
	}
}

func (s *scheduler) forgetIdle() {
	for id, q := range s.queues {
		if !q.waiting && len(q.held) == 0 {
			delete(s.queues, id)
		}
	}
}

// nextReads returns how many deliveries to read for which queues now; 0 for a queue with buffered deliveries whose
// endpoint or lease must be checked again.
func (s *scheduler) nextReads(now time.Time, mine func(endpointID string) bool) map[*endpointQueue]int {
	wanted := make(map[*endpointQueue]int)
	s.turn += maxQueuesPerRead
	for i := 0; i < len(s.busy) && len(wanted) < maxQueuesPerRead; i++ {
		q := s.busy[(s.turn+i)%len(s.busy)]
		if len(q.buffer) > 0 && !q.canStart(now, s.minLease) {
			wanted[q] = 0
		}
	}
	free := s.quota(now)
	for _, q := range s.line {
		if free.all <= 0 || len(wanted) >= maxQueuesPerRead {
			break
		}
		rest := free
		if n := rest.grant(q, now); n > 0 && mine(q.endpointID) {
			wanted[q], free = n, rest
		}
	}
	return wanted
}

// requeue moves a queue that was read to the end of the line if it has more, otherwise out of it.
func (s *scheduler) requeue(q *endpointQueue, more bool) {
	if !q.waiting {
		return
	}
	for i := range s.line {
		if s.line[i] == q {
			s.line = append(s.line[:i], s.line[i+1:]...)
			break
		}
	}
	q.waiting = false
	if more {
		s.enqueue(q)
	}
}

// add buffers deliveries that were read, except those already held.
func (s *scheduler) add(q *endpointQueue, read []*store.QueuedDelivery) {
	for _, d := range read {
		if _, held := q.held[d.ID]; held {
			continue
		}
		if len(q.held) == 0 {
			q.busyAt, s.busy = len(s.busy), append(s.busy, q)
		}
		q.held[d.ID] = d.Place
		q.buffer = append(q.buffer, d)
		s.load++
	}
	s.markReady(q)
}

// markReady adds the queue to the ready list if it can start an attempt.
func (s *scheduler) markReady(q *endpointQueue) {
	if !q.ready && len(q.buffer) > 0 && q.inFlight < maxInFlightPerEndpoint {
		q.ready = true
		s.ready = append(s.ready, q)
	}
}

// start returns the next delivery to send, or nil if no slot is free or nothing can be sent.
func (s *scheduler) start(now time.Time) (*endpointQueue, *store.QueuedDelivery) {
	for len(s.ready) > 0 && s.inFlight < s.limit {
		q := s.ready[0]
		s.ready = s.ready[1:]
		q.ready = false
		if len(q.buffer) == 0 || q.inFlight >= maxInFlightPerEndpoint || !q.canStart(now, s.minLease) {
			continue
		}
		d := q.buffer[0]
		q.buffer = q.buffer[1:]
		if q.inFlight == 0 {
			q.lastProgress = now
		}
		q.inFlight++
		s.inFlight++
		s.markReady(q)
		return q, d
	}
	return nil, nil
}

// finish records the end of an attempt. The delivery stays held until its result is recorded.
func (s *scheduler) finish(q *endpointQueue, answered bool, took time.Duration, now time.Time) {
	q.health, q.lastProgress = slow, now
	if answered && took <= slowAfter {
		q.health = fast
	}
	q.inFlight--
	s.inFlight--
	s.load--
	s.markReady(q)
}

// drop ends the hold on a delivery: it can be read again if it is still in the queue.
func (s *scheduler) drop(q *endpointQueue, deliveryID string) {
	if _, held := q.held[deliveryID]; !held {
		return
	}
	delete(q.held, deliveryID)
	if len(q.held) == 0 {
		end := len(s.busy) - 1
		last := s.busy[end]
		s.busy[q.busyAt], last.busyAt = last, q.busyAt
		s.busy[end] = nil
		s.busy = s.busy[:end]
	}
}

// release drops the buffered deliveries of a queue and puts it back into the line.
func (s *scheduler) release(q *endpointQueue) {
	ahead := q.buffer
	q.buffer, q.cursor = nil, store.Place{}
	s.load -= len(ahead)
	for _, d := range ahead {
		s.drop(q, d.ID)
	}
	s.enqueue(q)
}

// releaseStuck releases the buffers of slow endpoints that use all their slots.
func (s *scheduler) releaseStuck(now time.Time) {
	for _, q := range s.busy { // which a queue with attempts in flight does not leave
		if len(q.buffer) > 0 && q.inFlight >= maxInFlightPerEndpoint && q.healthAt(now) == slow {
			s.release(q)
		}
	}
}
