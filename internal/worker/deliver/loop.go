package deliver

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

const (
	pollInterval = time.Second // between looks, even if nothing wakes the sender
	maxPause     = 5 * time.Second
	secretPause  = time.Minute // for an endpoint whose secret cannot be read

	stopGrace = 9 * time.Second // for running attempts when the sender stops
	last      = time.Second     // to write down what is left after it
)

// job is an attempt to be made, and outcome one that is over.
type (
	job struct {
		lane     *lane
		target   *target
		delivery *store.QueuedDelivery
	}
	outcome struct {
		job
		attempt webhook.Attempt
		cause   error // of a failure
		cut     bool  // it was cut off
	}
)

// loop is the work of one sender. One goroutine decides everything; beside it run the attempts, at most one reading
// of the queues, and at most one writing down of results.
type loop struct {
	*Sender
	ctx      context.Context //nolint:containedctx // of Run; the loop lives no longer
	attempts context.Context //nolint:containedctx // of the attempts, which outlive that of Run by a grace
	turns    *turns
	work     chan job
	over     chan outcome
	answers  chan func() // of the database: what to do with them
	reader
	writer
}

func newLoop(s *Sender) *loop {
	return &loop{
		Sender:  s,
		turns:   newTurns(s.InFlight, s.Timeout+leaseMargin/4),
		work:    make(chan job),
		over:    make(chan outcome, s.InFlight),
		answers: make(chan func(), 2),
		reader:  reader{lookNow: true},
	}
}

// run works until ctx ends and everything in flight is written down, or given up on.
func (l *loop) run(ctx context.Context) {
	attempts, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errStopped)
	defer close(l.work)
	l.ctx, l.attempts = ctx, attempts
	timer := time.NewTimer(0)
	defer timer.Stop()
	done := ctx.Done()
	var end <-chan time.Time
	for {
		if l.stopping() && l.idle() {
			return
		}
		l.send()
		l.read()
		l.write()
		timer.Reset(l.wait())
		select {
		case o := <-l.over:
			l.take(o)
		case use := <-l.answers:
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
				"count", len(l.results)+l.turns.inFlight)
			return
		}
		l.drain()
	}
}

func (l *loop) stopping() bool { return l.ctx.Err() != nil }

// idle says whether nothing is left to do for a sender that stops.
func (l *loop) idle() bool {
	return l.turns.inFlight == 0 && len(l.results) == 0 && !l.writing && !l.reading
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

// send sets attempts off while there are free slots. Goroutines that have made one are used again, because their stacks
// have grown to what an attempt needs.
func (l *loop) send() {
	if l.stopping() {
		return
	}
	now := l.Now()
	for {
		lane, d := l.turns.begin(now)
		if d == nil {
			return
		}
		l.metrics.inFlight.Inc()
		select {
		case l.work <- job{lane, lane.target, d}:
		default:
			go l.attempt(job{lane, lane.target, d})
		}
	}
}

// attempt makes the attempt on a delivery, and then on others, until the loop ends.
func (l *loop) attempt(j job) {
	for ok := true; ok; j, ok = <-l.work {
		a, cause, err := l.courier.attempt(l.attempts, j.target, j.delivery)
		l.over <- outcome{j, a, cause, err != nil}
	}
}

// take notes an outcome: its slot is free, its result is to be written down.
func (l *loop) take(o outcome) {
	now := l.Now()
	d, a := o.delivery, &o.attempt
	l.metrics.inFlight.Dec()
	l.turns.end(o.lane, a.HTTPStatus != 0, a.Duration, now)
	if o.cut { // it stays in the queue as it is
		l.turns.letGo(o.lane, d.ID)
		return
	}
	l.metrics.observe(a)
	r := store.AttemptResult{Attempt: *a, EndpointID: o.target.ID, DueAt: d.DueAt}
	if !a.Acknowledged() {
		r.Next = l.nextAttempt(o, now)
	}
	l.add(o.lane, r)
}

// nextAttempt returns when to try again after a failure, or nil.
func (l *loop) nextAttempt(o outcome, now time.Time) *time.Time {
	number := o.delivery.Failures + 1
	log := l.Log.With("delivery_id", o.delivery.ID, "endpoint_id", o.target.ID, "attempt", number, "status",
		o.attempt.HTTPStatus)
	if o.cause != nil {
		log = log.With("failure", string(o.attempt.Failure), "cause", logText(o.cause))
	}
	delay, again := l.Schedule.Next(number, l.Jitter())
	if !again {
		l.metrics.givenUp.Inc()
		log.Warn("a delivery failed in every attempt")
		return nil
	}
	log.Info("a delivery attempt failed", "again_in", delay)
	next := now.Add(delay)
	return &next
}

// wait returns how long to wait for something to happen.
func (l *loop) wait() time.Duration {
	now := time.Now()
	at := now.Add(l.poll)
	if t := l.nextWrite(); t.Before(at) {
		at = t
	}
	if t := l.nextRead(); !l.stopping() && t.Before(at) {
		at = t
	}
	return max(at.Sub(now), 0)
}

// longer returns the next pause after a database that did not do what it was asked.
func longer(pause time.Duration) time.Duration {
	return min(max(2*pause, 50*time.Millisecond), maxPause)
}
