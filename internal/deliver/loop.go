package deliver

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

const (
	pollInterval = time.Second          // between looks, even if nothing wakes the sender
	pace         = 2 * time.Millisecond // between exchanges under load, so that each carries many results
	lookShare    = 10                   // a look may take one part in so many of the time
	raceInterval = 5 * time.Millisecond // before asking again for queues at which another sender was
	maxPause     = 5 * time.Second      // when the database is out of reach

	stopGrace = 9 * time.Second // for running attempts when the sender stops
	last      = time.Second     // to write down what is left after it

	secretPause = time.Minute // for an endpoint whose secret cannot be read
)

// outcome is an attempt that is over.
type outcome struct {
	delivery *store.ClaimedDelivery
	attempt  webhook.Attempt
	cause    error // of a failure
	err      error // no attempt was made
}

// loop is the work of one sender. All of it but the attempts happens in one goroutine, in exchanges with the database:
// each writes down the results that have come in and takes as many deliveries as there are free slots.
type loop struct {
	*Sender
	turns *turns
	over  chan outcome

	results  []store.AttemptResult // not yet written down
	releases []release

	lookNow  bool      // something may be due that is not in line
	lookFrom time.Time // the earliest time of the next look, and
	lookAt   time.Time // the latest; both by the real clock
	holdTill time.Time // no exchange before, by the real clock
	pause    time.Duration
}

// release gives a delivery back without an attempt.
type release struct {
	delivery *store.ClaimedDelivery
	due      time.Time
}

func newLoop(s *Sender) *loop {
	return &loop{Sender: s, turns: newTurns(s.InFlight), over: make(chan outcome, s.InFlight), lookNow: true}
}

// run works until ctx ends and everything in flight is written down, or given up on.
func (l *loop) run(ctx context.Context) {
	attempts, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errStopped)
	done := ctx.Done()
	var end <-chan time.Time
	for {
		if ctx.Err() != nil && l.turns.inFlight == 0 && len(l.results)+len(l.releases) == 0 {
			return
		}
		wait := l.step(ctx, attempts)
		timer := time.NewTimer(wait)
		select {
		case o := <-l.over:
			l.take(o)
		case <-l.woken:
			l.lookNow = true
		case <-timer.C:
		case <-done:
			done = nil
			timeout := time.AfterFunc(l.grace, func() { cut(errStopped) })
			defer timeout.Stop()
			end = time.After(l.grace + last)
		case <-end:
			l.Log.WarnContext(ctx, "results of deliveries could not be written down before the end: they are sent again",
				"count", len(l.results)+l.turns.inFlight)
			return
		}
		timer.Stop()
		l.drain()
	}
}

// drain takes all outcomes that are there.
func (l *loop) drain() {
	for {
		select {
		case o := <-l.over:
			l.take(o)
		default:
			return
		}
	}
}

// step does what can be done now and returns how long to wait for something to happen.
func (l *loop) step(ctx, attempts context.Context) time.Duration {
	start := time.Now()
	if l.holdTill.After(start) {
		return l.holdTill.Sub(start)
	}
	working := ctx.Err() == nil
	if working && (l.lookNow || !l.lookAt.After(start)) && !l.lookFrom.After(start) && l.turns.inFlight < l.InFlight {
		if !l.look(ctx, start) {
			return l.holdTill.Sub(start)
		}
	}
	var wanted map[string]int
	if working {
		wanted = l.turns.next(l.Now())
	}
	if len(wanted) > 0 || len(l.results)+len(l.releases) > 0 {
		l.exchange(ctx, attempts, wanted)
		return max(time.Until(l.holdTill), 0)
	}
	wait := time.Until(l.lookAt)
	if l.lookNow {
		wait = time.Until(l.lookFrom)
	}
	if l.turns.inFlight == l.InFlight || !working { // only an outcome changes anything
		wait = pollInterval
	}
	return max(wait, 0)
}

// look puts endpoints with due deliveries into the line and finds out when to look next.
func (l *loop) look(ctx context.Context, start time.Time) bool {
	l.lookNow = false // what is queued from here on wakes the sender again
	heads, err := l.Store.QueueHeads(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.Log.ErrorContext(ctx, "due deliveries could not be looked for", "error", err)
		}
		l.lookNow = true
		l.stumble()
		return false
	}
	now := l.Now()
	next := l.turns.see(heads, now)
	end := time.Now()
	l.lookFrom, l.lookAt = start.Add(lookShare*end.Sub(start)), end.Add(l.poll)
	if !next.IsZero() {
		l.lookBy(next, now)
	}
	return true
}

// lookBy makes sure that a delivery that is due at a time by the injected clock is seen then.
func (l *loop) lookBy(due, now time.Time) {
	if at := time.Now().Add(due.Sub(now)); at.Before(l.lookAt) {
		l.lookAt = at
	}
}

// stumble waits, longer each time, because the database did not do what it was asked.
func (l *loop) stumble() {
	l.pause = min(max(2*l.pause, 50*time.Millisecond), maxPause)
	l.holdTill = time.Now().Add(l.pause)
}

// exchange writes down results and takes deliveries, in one transaction, and sets the attempts off.
func (l *loop) exchange(ctx, attempts context.Context, wanted map[string]int) {
	l.holdTill = time.Now().Add(pace)
	now := l.Now()
	request := store.ClaimRequest{
		ClaimID: store.NewID(), Now: now, LeaseUntil: now.Add(l.Timeout + leaseMargin), InFlight: maxForEndpoint, Wanted: wanted,
	}
	var got store.Claimed
	err := l.Store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) (err error) {
		if err := l.writeDown(tx, now); err != nil || len(wanted) == 0 {
			return err
		}
		got, err = tx.ClaimDeliveries(request)
		return err
	})
	if err != nil {
		if len(wanted) > 0 && len(l.results) > 0 { // results must not wait for what keeps deliveries from being taken
			if e := l.Store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return l.writeDown(tx, now) }); e == nil {
				l.results, l.releases = nil, nil
			}
		}
		l.Log.ErrorContext(ctx, "results and deliveries could not be exchanged with the database", "error", err)
		l.lookNow = true
		l.stumble()
		return
	}
	l.pause = 0
	l.results, l.releases = l.results[:0], l.releases[:0]
	if len(wanted) == 0 {
		return
	}
	l.turns.settle(wanted, got.Again)
	if len(got.Deliveries) == 0 {
		l.holdTill = time.Now().Add(raceInterval)
	}
	late := l.Now().After(now.Add(leaseMargin / 2))
	for _, d := range got.Deliveries {
		if late { // what is begun now might not be over when the lease is
			l.releases = append(l.releases, release{d, l.Now()})
			continue
		}
		l.turns.begin(d.Endpoint.ID, now)
		l.metrics.inFlight.Inc()
		go func() {
			a, cause, err := l.courier.attempt(attempts, d)
			l.over <- outcome{d, a, cause, err}
		}()
	}
}

func (l *loop) writeDown(tx *store.Tx, now time.Time) error {
	for _, r := range l.releases {
		if err := tx.ReleaseDelivery(r.delivery.ID, r.delivery.ClaimID, r.due); err != nil {
			return err
		}
	}
	return tx.RecordAttempts(l.results, now)
}

// take notes an outcome: its slot is free, its result is to be written down.
func (l *loop) take(o outcome) {
	now := l.Now()
	d, a := o.delivery, &o.attempt
	l.metrics.inFlight.Dec()
	l.turns.end(d.Endpoint.ID, a.HTTPStatus != 0, a.Duration, now)
	if o.err != nil {
		l.release(o, now)
		return
	}
	l.metrics.observe(a)
	r := store.AttemptResult{Attempt: *a, ClaimID: d.ClaimID}
	if !a.Acknowledged() {
		r.Next = l.nextAttempt(o, now)
	}
	l.results = append(l.results, r)
}

// release gives back a delivery that was not attempted, or whose attempt was cut off.
func (l *loop) release(o outcome, now time.Time) {
	due := now
	if o.attempt.At.IsZero() {
		due = now.Add(secretPause)
		l.Log.Error("a delivery could not be attempted", "delivery_id", o.delivery.ID, "endpoint_id", o.delivery.Endpoint.ID, "error", o.err)
	}
	l.releases = append(l.releases, release{o.delivery, due})
}

// nextAttempt returns when to try again after a failure, or nil.
func (l *loop) nextAttempt(o outcome, now time.Time) *time.Time {
	number := o.delivery.Failures + 1
	log := l.Log.With("delivery_id", o.delivery.ID, "endpoint_id", o.delivery.Endpoint.ID, "attempt", number, "status", o.attempt.HTTPStatus)
	if o.cause != nil {
		log = log.With("failure", string(o.attempt.Failure), "cause", o.cause)
	}
	delay, again := l.Schedule.Next(number, l.Jitter())
	if !again {
		l.metrics.givenUp.Inc()
		log.Warn("a delivery failed in every attempt")
		return nil
	}
	log.Info("a delivery attempt failed", "again_in", delay)
	next := now.Add(delay)
	l.lookBy(next, now)
	return &next
}
