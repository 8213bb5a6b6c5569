package deliver

import (
	"context"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

const (
	scanShare = 10                     // a scan may take at most this share (1/n) of the time,
	scanPause = 100 * time.Millisecond // unless the last one is this long ago

	// lookPause is how long queues are not looked through again after none of them was to be read: attempts that end
	// within it are many where it is short, and would look in vain.
	lookPause = time.Millisecond

	// dropBatch is how many deliveries to a deleted endpoint are dropped at a time: others wait for the writer.
	dropBatch = 500

	// leaseMargin is how much longer than an attempt a lease lasts.
	leaseMargin = 10 * time.Second
)

var farFuture = time.Unix(1<<40, 0)

// reader is the part of the loop that reads queues, by scans and fetches.
type reader struct {
	reading  bool
	scanNow  bool      // there may be new due deliveries
	scanFrom time.Time // earliest time of the next scan,
	scanAt   time.Time // latest time; both by the real clock
	readFrom time.Time // earliest time of the next read, by the real clock
	pause    time.Duration
	lookFrom time.Time // earliest time of the next look through the queues, by the real clock,
	look     bool      // at which one has to be made
}

// read starts the next scan or fetch, if there is one to do.
func (l *loop) read(start time.Time) {
	if l.reading || l.stopping() || l.readFrom.After(start) {
		return
	}
	if (l.scanNow || !l.scanAt.After(start)) && !l.scanFrom.After(start) {
		l.scan(start)
		return
	}
	if l.look = l.lookFrom.After(start); l.look {
		return
	}
	now := l.Now()
	l.forgetEndpoints()
	l.scheduler.releaseStuck(now)
	if wanted := l.scheduler.nextReads(now, l.mine); len(wanted) > 0 {
		l.fetch(wanted, now)
	} else {
		l.lookFrom = start.Add(lookPause)
	}
}

// nextRead returns when read has to be called at the latest.
func (l *loop) nextRead(now time.Time) time.Time {
	switch {
	case l.reading:
		return farFuture
	case l.readFrom.After(now):
		return l.readFrom
	case l.look:
		return l.lookFrom
	case l.scanNow || l.scanAt.Before(l.scanFrom):
		return l.scanFrom
	}
	return l.scanAt
}

// startRead runs f in a goroutine without the lock, and then the function that it returns with it.
func (l *loop) startRead(f func() (use func() error)) {
	l.reading = true
	l.start(func() {
		use := f()
		l.update(func() {
			l.reading, l.lookFrom = false, time.Time{}
			err := use()
			if !l.reading {
				l.dropWritten()
			}
			if err == nil {
				l.pause = 0
				if l.retryPause == 0 { // else results wait, and it is not well
					l.done.Set()
					l.rounds.Ended(nil)
				}
				return
			}
			if !l.stopping() {
				l.rounds.Ended(err)
				l.Log.ErrorContext(l.ctx, "due deliveries could not be read", "error", err)
			}
			l.scanNow, l.pause = true, backoff(l.pause)
			l.readFrom = time.Now().Add(l.pause)
		})
	})
}

// scan puts queues with due deliveries into the line and determines the time of the next scan.
func (l *loop) scan(start time.Time) {
	l.scanNow, l.scanAt = false, farFuture // what is queued or recorded from now on sets them again
	horizon := l.Now().Add(max(l.Schedule.Longest(), l.FirstDelay) + horizonMargin)
	held := l.scheduler.heldAfter(horizon)
	l.startRead(func() func() error {
		heads, err := l.readHeads(horizon, held)
		return func() error {
			if err != nil {
				return err
			}
			now, end := l.Now(), time.Now()
			l.scanFrom = end.Add(min((scanShare-1)*end.Sub(start), scanPause))
			l.scanBy(now.Add(l.poll), now)
			if next := l.scheduler.observe(heads, now, l.mine); !next.IsZero() {
				l.scanBy(next, now)
			}
			l.dropWritten()
			l.handOver()
			return nil
		}
	})
}

// horizonMargin is by how much clocks of nodes may differ.
const horizonMargin = time.Minute

// readHeads reads the heads of the queues. Deliveries that are due after the horizon, which is later than any delay
// allows, were queued by a clock that was wrong: they are made due now, unless they are held.
func (l *loop) readHeads(horizon time.Time, held []string) ([]store.QueueHead, error) {
	heads, err := l.Store.QueueHeads(l.ctx, l.Now())
	if err != nil {
		return nil, err
	}
	var far []string
	for _, h := range heads {
		if h.FarthestAt.After(horizon) && l.mine(h.EndpointID) {
			far = append(far, h.EndpointID)
		}
	}
	if len(far) == 0 {
		return heads, nil
	}
	if err := l.Store.Update(l.ctx, func(tx *store.Tx) error {
		for _, id := range far {
			if err := tx.PullDeliveries(id, l.Now(), horizon, held); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return l.Store.QueueHeads(l.ctx, l.Now())
}

// scanBy schedules a scan for the due time of a delivery, given by the injected clock.
func (l *loop) scanBy(due, now time.Time) {
	if at := time.Now().Add(due.Sub(now)); at.Before(l.scanAt) {
		l.scanAt = at
	}
}

// handOver returns the leases of queues that belong to other nodes.
func (l *loop) handOver() {
	if !l.Store.Shared() {
		return
	}
	queues := l.scheduler.notMine(l.mine)
	if len(queues) == 0 {
		return
	}
	ids := make([]string, len(queues))
	for i, queue := range queues {
		ids[i], queue.leaseUntil = queue.endpointID, time.Time{}
	}
	l.startRead(func() func() error {
		err := l.Store.Update(l.ctx, func(tx *store.Tx) error { return tx.ReturnQueues(l.node, ids) })
		return func() error { return err }
	})
}

// request is what to read for a queue, fetched the result.
type (
	request struct {
		queue      *endpointQueue
		endpointID string
		cursor     store.Place
		limit      int               // 0: only look up the endpoint
		known      *webhook.Endpoint // if looked up recently; nil: look it up
		forgot     int64             // of the loop, at the request
		leaseUntil time.Time
		renew      bool // renew the lease
	}
	fetched struct {
		leaseUntil time.Time         // zero: another node has the queue
		endpoint   *webhook.Endpoint // nil: deleted
		backlog    bool              // of a deleted endpoint: more is to be dropped
		deliveries []*store.QueuedDelivery
		err        error // why the queue could not be read
	}
)

// fetch reads deliveries. With several nodes it first leases the queues whose leases do not last long enough.
func (l *loop) fetch(wanted map[*endpointQueue]int, now time.Time) {
	requests := make([]request, 0, len(wanted))
	for queue, n := range wanted {
		r := request{
			queue: queue, endpointID: queue.endpointID, cursor: queue.cursor, limit: n, leaseUntil: queue.leaseUntil,
			forgot: l.forgot,
			renew:  !queue.leaseUntil.After(now.Add(l.scheduler.minLease + leaseMargin/4)),
		}
		if queue.target != nil && now.Sub(queue.checkedAt) < maxCheckAge/4 {
			r.known = queue.target.Endpoint
		}
		if n > 0 && r.cursor.ID == "" {
			r.limit += len(queue.held) // they are read again from the start of the queue
		}
		requests = append(requests, r)
	}
	l.startRead(func() func() error {
		got, err := l.fetchAll(requests, now)
		return func() error {
			for i := range got { // the queues without a result stay in the line
				l.apply(requests[i], got[i], now)
			}
			return err
		}
	})
}

// apply stores what was fetched for a queue.
func (l *loop) apply(r request, got fetched, now time.Time) {
	queue := r.queue
	queue.leaseUntil = got.leaseUntil
	if got.err != nil {
		l.putOff(queue, got.err, now)
		return
	}
	queue.readPause = 0
	if r.known == nil && r.forgot == l.forgotten.Load() { // else it may have been read before the change
		queue.checkedAt = now
	}
	if got.endpoint == nil { // deleted, or leased by another node
		queue.target = nil // which is not to be taken for the endpoint while more is dropped
		l.scheduler.pause(queue, now)
		if got.backlog {
			l.scheduler.enqueue(queue)
		}
		return
	}
	if got.endpoint.PausedAt != nil {
		l.scheduler.pause(queue, now.Add(pollInterval))
		return
	}
	if queue.target == nil || queue.target.SealedSecret != got.endpoint.SealedSecret {
		aimed, err := l.http.openTarget(got.endpoint)
		if err != nil {
			l.Log.ErrorContext(l.ctx, "deliveries cannot be sent to an endpoint", "endpoint_id", r.endpointID, "error", err)
			l.scheduler.pause(queue, now.Add(secretPause))
			return
		}
		queue.target = aimed
	}
	if r.limit == 0 {
		l.scheduler.markReady(queue)
		return
	}
	more := len(got.deliveries) == r.limit
	queue.cursor = store.Place{}
	if more {
		queue.cursor = got.deliveries[len(got.deliveries)-1].Place
	}
	l.scheduler.requeue(queue, more)
	l.scheduler.add(queue, got.deliveries)
}

// putOff lets a queue that cannot be read wait, longer after each try, while others are read. Whether it is the
// database that cannot be read is told by a scan.
func (l *loop) putOff(queue *endpointQueue, err error, now time.Time) {
	if l.stopping() {
		return
	}
	l.metrics.unreadable.Inc()
	if queue.readPause == 0 {
		l.Log.ErrorContext(l.ctx, "due deliveries to an endpoint could not be read; they wait, and it is tried again",
			"endpoint_id", queue.endpointID, "error", err)
	}
	queue.readPause = min(max(2*queue.readPause, pollInterval), maxReadPause)
	l.scheduler.pause(queue, now.Add(queue.readPause))
	l.scanNow = true
}

// fetchAll reads the requests, in order, as far as the first that fails: a database that is slow or gone would fail
// each of them. Pending deliveries of endpoints that are deleted, or whose key is revoked, are dropped, some at a time.
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
	endpoints, together := l.Store.Receiving(l.ctx, ids)
	all := make([]fetched, 0, len(requests))
	for _, r := range requests {
		f := fetched{leaseUntil: leases[r.endpointID], endpoint: r.known}
		if together != nil && r.known == nil && !f.leaseUntil.IsZero() { // is it this one that cannot be read?
			endpoints, f.err = l.Store.Receiving(l.ctx, []string{r.endpointID})
		}
		if f.endpoint == nil {
			f.endpoint = endpoints[r.endpointID]
		}
		switch {
		case f.err != nil:
		case f.leaseUntil.IsZero():
			f.endpoint = nil
		case f.endpoint == nil:
			f.err = l.Store.Update(l.ctx, func(tx *store.Tx) error {
				n, err := tx.DropPendingDeliveries(r.endpointID, dropBatch)
				f.backlog = n == dropBatch
				return err
			})
		case r.limit > 0 && f.endpoint.PausedAt == nil:
			f.deliveries, f.err = l.Store.DueDeliveries(l.ctx, r.endpointID, r.cursor, now, r.limit)
		}
		if all = append(all, f); f.err != nil {
			break
		}
	}
	return all, nil
}

// leaseQueues returns the end of this node's leases by endpoint. Queues leased by other nodes are missing.
func (l *loop) leaseQueues(requests []request, now time.Time) (map[string]time.Time, error) {
	leases := make(map[string]time.Time, len(requests))
	var renew []string
	for _, r := range requests {
		switch {
		case !l.Store.Shared():
			leases[r.endpointID] = farFuture
		case r.renew:
			renew = append(renew, r.endpointID)
		default:
			leases[r.endpointID] = r.leaseUntil
		}
	}
	if len(renew) == 0 {
		return leases, nil
	}
	slices.Sort(renew)
	lasts := l.longest() + leaseMargin
	var leased []string
	err := l.Store.Update(context.WithoutCancel(l.ctx), func(tx *store.Tx) error {
		shared, err := l.SharedNow(tx)
		if err != nil {
			return err
		}
		leased, err = tx.LeaseQueues(l.node, renew, shared, shared.Add(lasts))
		return err
	})
	for _, id := range leased {
		leases[id] = now.Add(lasts) // now was before the lease began
	}
	return leases, err
}
