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

// release gives a delivery back without an attempt.
type release struct {
	delivery *store.ClaimedDelivery
	due      time.Time
}

// loop is the work of one sender. One goroutine decides everything; the attempts, and one question to the database at a
// time, run beside it. A question is either a look at the queues or an exchange: it writes down the results that have
// come in and takes new deliveries.
type loop struct {
	*Sender
	ctx      context.Context //nolint:containedctx // of Run; the loop lives no longer
	attempts context.Context //nolint:containedctx // of the attempts, which outlive that of Run by a grace
	turns    *turns
	over     chan outcome

	answers chan func() // what to do with the database's answer
	asking  bool

	results  []store.AttemptResult // not yet written down
	releases []release

	lookNow  bool      // something may be due that is not in line
	lookFrom time.Time // the earliest time of the next look, and
	lookAt   time.Time // the latest; both by the real clock
	holdTill time.Time // no question before, by the real clock
	pause    time.Duration
}

func newLoop(s *Sender) *loop {
	return &loop{
		Sender: s, turns: newTurns(s.InFlight, s.presence.share), over: make(chan outcome, s.InFlight), answers: make(chan func(), 1), lookNow: true,
	}
}

// run works until ctx ends and everything taken is written down, or given up on.
func (l *loop) run(ctx context.Context) {
	attempts, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errStopped)
	l.ctx, l.attempts = ctx, attempts
	timer := time.NewTimer(0)
	defer timer.Stop()
	done := ctx.Done()
	var end <-chan time.Time
	for {
		if ctx.Err() != nil && l.idle() {
			return
		}
		l.send()
		l.ask()
		timer.Reset(l.wait())
		select {
		case o := <-l.over:
			l.take(o)
		case use := <-l.answers:
			l.asking = false
			use()
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
				"count", len(l.results)+l.turns.taken)
			return
		}
		l.drain()
	}
}

// idle says whether nothing is left to do for a sender that stops.
func (l *loop) idle() bool {
	return l.turns.taken == 0 && len(l.results)+len(l.releases) == 0 && !l.asking
}

func (l *loop) stopping() bool { return l.ctx.Err() != nil }

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

// send sets attempts off while there are free slots.
func (l *loop) send() {
	if l.stopping() {
		return
	}
	now := l.Now()
	for d := l.turns.begin(now); d != nil; d = l.turns.begin(now) {
		l.metrics.inFlight.Inc()
		go func() {
			if l.Now().Add(l.Timeout + leaseMargin/4).After(d.LeaseUntil) { // it might not be over when the lease is
				l.over <- outcome{delivery: d, attempt: webhook.Attempt{At: now}, err: errLate}
				return
			}
			a, cause, err := l.courier.attempt(l.attempts, d)
			l.over <- outcome{d, a, cause, err}
		}()
	}
}

// take notes an outcome: its slot is free, its result is to be written down.
func (l *loop) take(o outcome) {
	now := l.Now()
	d, a := o.delivery, &o.attempt
	l.metrics.inFlight.Dec()
	l.turns.end(d.Endpoint.ID, a.HTTPStatus != 0, a.Duration, now)
	if o.err != nil {
		due := now
		if a.At.IsZero() {
			due = now.Add(secretPause)
			l.Log.Error("a delivery could not be attempted", "delivery_id", d.ID, "endpoint_id", d.Endpoint.ID, "error", o.err)
		}
		l.releases = append(l.releases, release{d, due})
		return
	}
	l.metrics.observe(a)
	r := store.AttemptResult{Attempt: *a, ClaimID: d.ClaimID}
	if !a.Acknowledged() {
		r.Next = l.nextAttempt(o, now)
	}
	l.results = append(l.results, r)
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

// wait returns how long to wait for something to happen.
func (l *loop) wait() time.Duration {
	now := time.Now()
	switch {
	case l.asking || l.stopping(): // only an answer or an outcome changes anything
		return l.poll
	case l.holdTill.After(now):
		return l.holdTill.Sub(now)
	case l.lookNow:
		return max(l.lookFrom.Sub(now), 0)
	}
	return max(l.lookAt.Sub(now), 0)
}
