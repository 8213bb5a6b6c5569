package deliver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/store"
)

const (
	pollInterval = time.Second // between scans, even if nothing was announced
	maxPause     = 5 * time.Second
	secretPause  = time.Minute // of an endpoint whose secret cannot be decrypted
	maxReadPause = time.Minute // of an endpoint whose queue cannot be read

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
	ctx      context.Context // ends when the loop is to stop
	attempts context.Context // of attempts, which outlives ctx by the grace period
	work     chan job        // to goroutines that wait for another attempt
	idle     chan struct{}   // a stopping sender has nothing left to do
	failed   chan error      // a goroutine has panicked

	mu        sync.Mutex // of what follows
	closed    bool       // what happens from now on changes nothing
	scheduler *scheduler
	forgot    int64 // of the sender's forgotten, how many are done
	timer     *time.Timer
	timerAt   time.Time // when it fires
	reader
	writer
}

func newLoop(s *Sender) *loop {
	return &loop{
		Sender: s, work: make(chan job), idle: make(chan struct{}, 1), failed: make(chan error, 1),
		scheduler: newScheduler(s.InFlight, s.longest()+leaseMargin/4),
		timer:     time.NewTimer(0), timerAt: farFuture, reader: reader{scanNow: true},
	}
}

// run works until ctx ends or something panics, and then until the results of all attempts are recorded or abandoned.
func (l *loop) run(ctx context.Context) (failure error) {
	attempts, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errStopped)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.ctx, l.attempts = ctx, attempts
	defer l.close()
	done := ctx.Done()
	var end <-chan time.Time
	for {
		select {
		case <-l.wake:
			l.update(func() { l.scanNow = true })
		case <-l.timer.C:
			l.update(func() { l.timerAt = farFuture })
		case <-done:
			done = nil
			timeout := time.AfterFunc(l.grace, func() { cut(errStopped) })
			defer timeout.Stop()
			end = time.After(l.grace + finalWrite)
			l.update(func() {})
		case failure = <-l.failed:
			done = nil
			stop()
			cut(errStopped)
			end = time.After(finalWrite)
			l.update(func() {})
		case <-l.idle:
			return failure
		case <-end:
			l.Log.WarnContext(ctx, "delivery results could not be recorded before shutdown: they will be sent again",
				"count", l.unrecorded())
			return failure
		}
	}
}

// unrecorded counts the attempts that are made and not recorded.
func (l *loop) unrecorded() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writing + len(l.results) + l.scheduler.inFlight
}

// close ends the goroutines that wait for another attempt.
func (l *loop) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.timer.Stop()
	close(l.work)
}

// update makes a change under the lock, and then starts what can be started.
func (l *loop) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	change()
	l.advance()
}

// start runs f in a goroutine.
func (l *loop) start(f func()) {
	go func() {
		defer func() {
			if err := panicError(recover()); err != nil {
				select {
				case l.failed <- err:
				default: // another one was first
				}
			}
		}()
		f()
	}()
}

// advance starts what can be started now, and sets the timer for what can be later. This and all that follows is called
// with the lock, unless it says otherwise.
func (l *loop) advance() {
	if l.stopping() && l.scheduler.inFlight == 0 && len(l.results) == 0 && l.writing == 0 && !l.reading {
		pause.Signal(l.idle)
		return
	}
	l.send()
	now := time.Now()
	l.read(now)
	l.write(now)
	if at := l.next(now); at.Before(l.timerAt) {
		l.timer.Reset(max(at.Sub(now), 0))
		l.timerAt = at
	}
}

func (l *loop) stopping() bool { return l.ctx.Err() != nil }

// send starts attempts while slots are free. Goroutines are reused, because their stacks have already grown.
func (l *loop) send() {
	for {
		j, ok := l.nextJob()
		if !ok {
			return
		}
		select {
		case l.work <- j:
		default:
			l.start(func() { l.attempt(j) })
		}
	}
}

// nextJob returns the next attempt, if one can be made now.
func (l *loop) nextJob() (job, bool) {
	if l.stopping() {
		return job{}, false
	}
	l.forgetEndpoints()
	queue, d := l.scheduler.start(l.Now())
	if d == nil {
		return job{}, false
	}
	return job{queue, queue.target, d}, true
}

// forgetEndpoints does what ForgetEndpoints was called for since the last time.
func (l *loop) forgetEndpoints() {
	if n := l.forgotten.Load(); n != l.forgot {
		l.forgot = n
		l.scheduler.forgetEndpoints()
	}
}

// attempt makes an attempt, and then further ones, until the loop ends. It is called without the lock.
func (l *loop) attempt(j job) {
	for ok := true; ok; {
		if j, ok = l.finish(l.try(j)); !ok {
			j, ok = <-l.work
		}
	}
}

// try makes an attempt. One that panics has failed like any other: the next one is made as late as the schedule says.
func (l *loop) try(j job) (o outcome) {
	began := l.Now()
	l.metrics.inFlight.Inc()
	defer l.metrics.inFlight.Dec()
	defer func() {
		if err := panicError(recover()); err != nil {
			l.Log.ErrorContext(l.ctx, "delivery attempt failed", "delivery_id", j.delivery.ID, "error", err)
			o = outcome{job: j, cause: errPanicked, attempt: webhook.Attempt{
				DeliveryID: j.delivery.ID, Number: j.delivery.Attempts + 1, At: began, Failure: webhook.FailureConnection,
			}}
		}
	}()
	a, cause, err := l.http.attempt(l.attempts, j.target, j.delivery)
	return outcome{j, a, cause, err != nil}
}

var errPanicked = errors.New("panic")

// panicError returns the error of what recover has returned; nil: nothing has panicked.
func panicError(v any) error {
	if v == nil {
		return nil
	}
	return fmt.Errorf("panic: %v\n%s", v, debug.Stack())
}

// finish handles an outcome: the slot is free, and the result has to be recorded. It returns the attempt that takes the
// slot, if there is one. It is called without the lock.
func (l *loop) finish(o outcome) (next job, ok bool) {
	now := l.Now()
	a := &o.attempt
	var again *time.Time
	if !o.aborted {
		l.metrics.observe(a)
		if !a.Acknowledged() {
			again = l.nextAttempt(o, now)
		}
	}
	l.update(func() {
		l.scheduler.finish(o.queue, a.HTTPStatus != 0, a.Duration, now)
		if o.aborted { // it stays in the queue unchanged
			l.scheduler.drop(o.queue, o.delivery.ID)
		} else {
			l.addResult(o.queue, store.AttemptResult{
				Attempt: *a, EndpointID: o.target.ID, DueAt: o.delivery.DueAt, Row: o.delivery.Row, Next: again,
			})
		}
		next, ok = l.nextJob()
	})
	return next, ok
}

// nextAttempt returns when to retry after a failure, or nil. It is called without the lock.
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

// next returns when something has to be done, if nothing happens before.
func (l *loop) next(now time.Time) time.Time {
	at := now.Add(l.poll)
	if t := l.nextWrite(); t.Before(at) {
		at = t
	}
	if t := l.nextRead(now); !l.stopping() && t.Before(at) {
		at = t
	}
	return at
}

// backoff returns the next pause after a database error.
func backoff(pause time.Duration) time.Duration {
	return min(max(2*pause, 50*time.Millisecond), maxPause)
}
