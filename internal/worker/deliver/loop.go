package deliver

import (
	"context"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

const (
	pollInterval = time.Second // between scans, even if nothing was announced
	maxPause     = 5 * time.Second
	secretPause  = time.Minute // of an endpoint whose secret cannot be decrypted

	stopGrace  = 9 * time.Second // for running attempts when the sender stops
	finalWrite = time.Second     // to record the remaining results after it
)

// job is an attempt to be made, outcome a finished one.
type (
	job struct {
		queue    *endpointQueue
		target   *target
		delivery *store.QueuedDelivery
	}
	outcome struct {
		job
		attempt webhook.Attempt
		cause   error // of a failure
		aborted bool  // canceled by shutdown
	}
)

// loop runs a sender: see the package documentation.
type loop struct {
	*Sender
	ctx       context.Context //nolint:containedctx // of Run, which outlives the loop
	attempts  context.Context //nolint:containedctx // of attempts, which outlive that of Run by the grace period
	scheduler *scheduler
	work      chan job
	outcomes  chan outcome
	callbacks chan func() // from database goroutines, to run in the loop
	reader
	writer
}

func newLoop(s *Sender) *loop {
	return &loop{
		Sender: s, scheduler: newScheduler(s.InFlight, s.longest()+leaseMargin/4), work: make(chan job),
		outcomes: make(chan outcome, s.InFlight), callbacks: make(chan func(), 2), reader: reader{scanNow: true},
	}
}

// run works until ctx ends and the results of all attempts are recorded or abandoned.
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
		case o := <-l.outcomes:
			l.finish(o)
		case use := <-l.callbacks:
			use()
		case <-l.wake:
			l.scanNow = true
		case <-timer.C:
		case <-done:
			done = nil
			timeout := time.AfterFunc(l.grace, func() { cut(errStopped) })
			defer timeout.Stop()
			end = time.After(l.grace + finalWrite)
		case <-end:
			l.Log.WarnContext(ctx, "delivery results could not be recorded before shutdown: they will be sent again",
				"count", len(l.results)+l.scheduler.inFlight)
			return
		}
		l.drain()
	}
}

func (l *loop) stopping() bool { return l.ctx.Err() != nil }

// idle reports whether a stopping sender has nothing left to do.
func (l *loop) idle() bool {
	return l.scheduler.inFlight == 0 && len(l.results) == 0 && !l.writing && !l.reading
}

// drain handles all outcomes that have arrived.
func (l *loop) drain() {
	for {
		select {
		case o := <-l.outcomes:
			l.finish(o)
		default:
			return
		}
	}
}

// send starts attempts while slots are free. Goroutines are reused, because their stacks have already grown.
func (l *loop) send() {
	if l.stopping() {
		return
	}
	now := l.Now()
	for {
		queue, d := l.scheduler.start(now)
		if d == nil {
			return
		}
		l.metrics.inFlight.Inc()
		select {
		case l.work <- job{queue, queue.target, d}:
		default:
			go l.attempt(job{queue, queue.target, d})
		}
	}
}

// attempt makes an attempt, and then further ones, until the loop ends.
func (l *loop) attempt(j job) {
	for ok := true; ok; j, ok = <-l.work {
		a, cause, err := l.http.attempt(l.attempts, j.target, j.delivery)
		l.outcomes <- outcome{j, a, cause, err != nil}
	}
}

// finish handles an outcome: the slot is free, and the result has to be recorded.
func (l *loop) finish(o outcome) {
	now := l.Now()
	d, a := o.delivery, &o.attempt
	l.metrics.inFlight.Dec()
	l.scheduler.finish(o.queue, a.HTTPStatus != 0, a.Duration, now)
	if o.aborted { // it stays in the queue unchanged
		l.scheduler.drop(o.queue, d.ID)
		return
	}
	l.metrics.observe(a)
	r := store.AttemptResult{Attempt: *a, EndpointID: o.target.ID, DueAt: d.DueAt}
	if !a.Acknowledged() {
		r.Next = l.nextAttempt(o, now)
	}
	l.addResult(o.queue, r)
}

// nextAttempt returns when to retry after a failure, or nil.
func (l *loop) nextAttempt(o outcome, now time.Time) *time.Time {
	number := o.delivery.Failures + 1
	log := l.Log.With("delivery_id", o.delivery.ID, "endpoint_id", o.target.ID,
		"attempt", number, "status", o.attempt.HTTPStatus)
	if o.cause != nil {
		log = log.With("failure", string(o.attempt.Failure), "cause", logText(o.cause))
	}
	delay, again := l.Schedule.Next(number, l.Jitter())
	if !again {
		l.metrics.givenUp.Inc()
		log.Warn("delivery failed after all attempts")
		return nil
	}
	log.Info("delivery attempt failed", "again_in", delay)
	next := now.Add(delay)
	return &next
}

// wait returns how long to wait for an event.
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

// backoff returns the next pause after a database error.
func backoff(pause time.Duration) time.Duration {
	return min(max(2*pause, 50*time.Millisecond), maxPause)
}
