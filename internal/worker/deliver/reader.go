package deliver

import (
	"context"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

const (
	lookShare = 10                     // a look may take one part in so many of the time,
	lookPause = 100 * time.Millisecond // unless nobody has looked for so long

	// leaseMargin is how much longer than an attempt the lease of a queue is.
	leaseMargin = 10 * time.Second
)

// never is later than everything.
var never = time.Unix(1<<40, 0)

// reader is the part of the loop that finds out what is to be sent. It either looks which queues have something due, or
// fetches deliveries.
type reader struct {
	reading  bool
	lookNow  bool      // something may be due that is not in line
	lookFrom time.Time // the earliest time of the next look, and
	lookAt   time.Time // the latest; both by the real clock
	readFrom time.Time // the earliest time of the next reading, by the real clock
	pause    time.Duration
}

// read begins the next reading, if there is anything to read.
func (l *loop) read() {
	start := time.Now()
	if l.reading || l.stopping() || l.readFrom.After(start) {
		return
	}
	if (l.lookNow || !l.lookAt.After(start)) && !l.lookFrom.After(start) {
		l.look(start)
		return
	}
	now := l.Now()
	l.turns.tidy(now)
	if wanted := l.turns.next(now, l.mine); len(wanted) > 0 {
		l.fetch(wanted, now)
	}
}

// nextRead returns when read has to be called, if nothing happens before.
func (l *loop) nextRead() time.Time {
	switch {
	case l.reading:
		return never
	case l.readFrom.After(time.Now()):
		return l.readFrom
	case l.lookNow:
		return l.lookFrom
	}
	return l.lookAt
}

// begin runs a reading beside the loop; what it returns is done in the loop.
func (l *loop) begin(f func() (use func() error)) {
	l.reading = true
	go func() {
		use := f()
		l.answers <- func() {
			l.reading = false
			err := use()
			if err == nil {
				l.pause = 0
				return
			}
			if !l.stopping() {
				l.Log.ErrorContext(l.ctx, "due deliveries could not be read", "error", err)
			}
			l.lookNow, l.pause = true, longer(l.pause)
			l.readFrom = time.Now().Add(l.pause)
		}
	}()
}

// look puts endpoints with due deliveries into the line and finds out when to look next.
func (l *loop) look(start time.Time) {
	l.lookNow = false // what is queued from here on wakes the sender again
	l.begin(func() func() error {
		heads, err := l.Store.QueueHeads(l.ctx, l.Now())
		return func() error {
			if err != nil {
				return err
			}
			now, end := l.Now(), time.Now()
			l.lookFrom, l.lookAt = end.Add(min((lookShare-1)*end.Sub(start), lookPause)), end.Add(l.poll)
			if next := l.turns.see(heads, now, l.mine); !next.IsZero() {
				l.lookBy(next, now)
			}
			l.handOver()
			return nil
		}
	})
}

// lookBy makes sure that a delivery that is due at a time by the injected clock is seen then.
func (l *loop) lookBy(due, now time.Time) {
	if at := time.Now().Add(due.Sub(now)); at.Before(l.lookAt) {
		l.lookAt = at
	}
}

// handOver returns queues that other nodes are to have.
func (l *loop) handOver() {
	if !l.Store.Shared() {
		return
	}
	lanes := l.turns.strangers(l.mine)
	if len(lanes) == 0 {
		return
	}
	ids := make([]string, len(lanes))
	for i, lane := range lanes {
		ids[i], lane.leaseUntil = lane.endpointID, time.Time{}
	}
	l.begin(func() func() error {
		err := l.Store.Update(l.ctx, func(tx *store.Tx) error { return tx.ReturnQueues(l.node, ids) })
		return func() error { return err }
	})
}

// request is what to fetch for an endpoint, and fetched what there was.
type (
	request struct {
		lane       *lane
		endpointID string
		after      store.Place
		limit      int               // 0: only whether the endpoint is still there
		known      *webhook.Endpoint // looked up just now; nil: it has to be
		renew      bool              // the lease
	}
	fetched struct {
		leaseUntil time.Time         // zero: another node has the queue
		endpoint   *webhook.Endpoint // nil: it is gone
		deliveries []*store.QueuedDelivery
	}
)

// fetch reads deliveries. On a database with several nodes it first leases the queues that it does not have for long
// enough.
func (l *loop) fetch(wanted map[*lane]int, now time.Time) {
	requests := make([]request, 0, len(wanted))
	for lane, n := range wanted {
		r := request{
			lane:       lane,
			endpointID: lane.endpointID,
			after:      lane.after,
			limit:      n,
			renew:      !lane.leaseUntil.After(now.Add(l.turns.needs + leaseMargin/4)),
		}
		if lane.target != nil && now.Sub(lane.checkedAt) < freshness/4 {
			r.known = lane.target.Endpoint
		}
		if n > 0 && r.after.ID == "" {
			r.limit += len(lane.held) // which are among what comes first
		}
		requests = append(requests, r)
	}
	l.begin(func() func() error {
		got, err := l.fetchAll(requests, now)
		return func() error {
			for i, r := range requests {
				if got == nil || err != nil {
					break
				}
				l.use(r, got[i], now)
			}
			l.letGoWritten()
			return err
		}
	})
}

// use takes over what was fetched for an endpoint.
func (l *loop) use(r request, got fetched, now time.Time) {
	lane := r.lane
	lane.leaseUntil = got.leaseUntil
	if r.known == nil {
		lane.checkedAt = now
	}
	if got.endpoint == nil { // gone, or another node's
		l.turns.rest(lane, now)
		return
	}
	if lane.target == nil || lane.target.SealedSecret != got.endpoint.SealedSecret {
		aimed, err := l.courier.aim(got.endpoint)
		if err != nil {
			l.Log.ErrorContext(l.ctx, "deliveries cannot be sent to an endpoint", "endpoint_id", r.endpointID, "error", err)
			l.turns.rest(lane, now.Add(secretPause))
			return
		}
		lane.target = aimed
	}
	if r.limit == 0 {
		l.turns.prepare(lane)
		return
	}
	more := len(got.deliveries) == r.limit
	lane.after = store.Place{}
	if more {
		lane.after = got.deliveries[len(got.deliveries)-1].Place
	}
	l.turns.served(lane, more)
	l.turns.take(lane, got.deliveries)
}

// fetchAll answers the requests, in their order. What is queued for endpoints that are gone is dropped.
func (l *loop) fetchAll(requests []request, now time.Time) ([]fetched, error) {
	leases, err := l.leaseQueues(requests, now)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(requests))
	for _, r := range requests {
		if r.known == nil && !leases[r.endpointID].IsZero() {
			ids = append(ids, r.endpointID)
		}
	}
	endpoints, err := l.Store.Receiving(l.ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make([]fetched, len(requests))
	for i, r := range requests {
		f := &all[i]
		f.leaseUntil, f.endpoint = leases[r.endpointID], r.known
		if f.endpoint == nil {
			f.endpoint = endpoints[r.endpointID]
		}
		switch {
		case f.leaseUntil.IsZero():
			f.endpoint = nil
		case f.endpoint == nil:
			err = l.Store.Update(l.ctx, func(tx *store.Tx) error { return tx.DropPendingDeliveries(r.endpointID) })
		case r.limit > 0:
			f.deliveries, err = l.Store.DueDeliveries(l.ctx, r.endpointID, r.after, now, r.limit)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// leaseQueues returns until when this node has the queues of the endpoints; those that another one has are left out.
func (l *loop) leaseQueues(requests []request, now time.Time) (map[string]time.Time, error) {
	leases := make(map[string]time.Time, len(requests))
	var renew []string
	for _, r := range requests {
		switch {
		case !l.Store.Shared():
			leases[r.endpointID] = never
		case r.renew:
			renew = append(renew, r.endpointID)
		default:
			leases[r.endpointID] = r.lane.leaseUntil
		}
	}
	if len(renew) == 0 {
		return leases, nil
	}
	slices.Sort(renew)
	until := now.Add(l.Timeout + leaseMargin)
	var leased []string
	err := l.Store.Update(context.WithoutCancel(l.ctx), func(tx *store.Tx) (err error) {
		leased, err = tx.LeaseQueues(l.node, renew, now, until)
		return err
	})
	for _, id := range leased {
		leases[id] = until
	}
	return leases, err
}
