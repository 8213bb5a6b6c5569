package deliver

import (
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	// slowAfter is how long an endpoint may take to respond and still count as fast.
	slowAfter = time.Second

	// maxCheckAge is how old the last lookup of an endpoint may be when an attempt starts: for this long after its
	// deletion, an endpoint may still receive deliveries from a node that has not heard of it.
	maxCheckAge = time.Second
)

// health is how an endpoint has responded.
type health int

const (
	unknown health = iota // no attempt yet
	fast                  // the last response came within slowAfter
	slow                  // the last response was late or missing
)

// endpointQueue is the state of an endpoint and its queue on this node.
type endpointQueue struct {
	endpointID  string
	target      *target       // the endpoint at the last lookup
	checkedAt   time.Time     // time of the last lookup
	leaseUntil  time.Time     // of the queue
	pausedUntil time.Time     // not read before
	readPause   time.Duration // after the last read, if it failed

	cursor       store.Place             // of the last delivery read
	buffer       []*store.QueuedDelivery // read, not yet sent
	inFlight     int                     // attempts running
	held         map[string]store.Place  // buffered, in flight, or with a result not yet recorded
	waiting      bool                    // in the scheduler's line: the queue may have more due deliveries
	ready        bool                    // in the scheduler's ready list
	busyAt       int                     // place in the scheduler's busy list, while something is held
	health       health
	lastProgress time.Time // last response, or start of the first attempt in flight
}

func (q *endpointQueue) load() int { return q.inFlight + len(q.buffer) }

// healthAt returns the health at a time: an endpoint that has not responded for slowAfter is slow.
func (q *endpointQueue) healthAt(now time.Time) health {
	if q.inFlight > 0 && now.Sub(q.lastProgress) > slowAfter {
		return slow
	}
	return q.health
}

// canStart reports whether an attempt may start: the endpoint was looked up recently, and the lease lasts at least
// minLease.
func (q *endpointQueue) canStart(now time.Time, minLease time.Duration) bool {
	return now.Sub(q.checkedAt) <= maxCheckAge && !q.leaseUntil.Before(now.Add(minLease))
}

// dueRange returns the earliest and the latest due time of the held deliveries.
func (q *endpointQueue) dueRange() (first, last time.Time) {
	for _, p := range q.held {
		if first.IsZero() || p.DueAt.Before(first) {
			first = p.DueAt
		}
		if p.DueAt.After(last) {
			last = p.DueAt
		}
	}
	return first, last
}
