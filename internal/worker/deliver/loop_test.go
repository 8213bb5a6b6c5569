package deliver

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestPanic checks that a panic in a goroutine of the sender ends its run, which is then repeated, and not the program.
func TestPanic(t *testing.T) {
	w := sqliteWorld(t)
	s := w.sender(nil, func(c *Config) { c.Jitter = func() float64 { panic("no dice") } })
	w.queue(1, w.endpoint("https://127.0.0.1:1/"))
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no dice") {
		t.Errorf("Run: %v, want the panic", err)
	}
}

// TestPanicInAttempt checks that an attempt that panics is one that has failed.
func TestPanicInAttempt(t *testing.T) {
	w := sqliteWorld(t)
	r := newReceiver(t, w.clock, nil)
	s := w.sender(r, nil)
	first := true
	s.http.now = func() time.Time {
		if first {
			first = false
			panic("no time")
		}
		return w.clock.Now()
	}
	d := w.queue(1, w.endpoint(r.URL))[0]
	w.run(s)
	must.Eventually(t, patient, "the failure is recorded", func() bool { return len(w.Attempts(d.ID)) == 1 })
	got := w.Attempts(d.ID)[0]
	if got.Number != 1 || got.Failure != webhook.FailureConnection || !got.At.Equal(w.clock.Now()) {
		t.Errorf("recorded: %+v", got)
	}
	w.clock.Advance(time.Hour)
	s.Wake()
	must.Eventually(t, patient, "it is sent again", func() bool { return r.count() == 1 })
	must.Eventually(t, patient, "none is in flight", func() bool { return testutil.ToFloat64(s.metrics.inFlight) == 0 })
}

// TestHeldUntilRecorded checks that a delivery whose result is recorded while queues are read, by a scan or a fetch, is
// held until the read ends, which may have found it in the queue, and no longer.
func TestHeldUntilRecorded(t *testing.T) {
	w := sqliteWorld(t)
	e := w.endpoint("https://127.0.0.1/")
	d := w.queue(1, e)[0]
	l := newLoop(w.sender(nil, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.ctx = ctx
	l.timer.Stop()

	read := make(chan struct{})
	now := w.clock.Now()
	queue := &endpointQueue{endpointID: e.ID, held: make(map[string]store.Place), checkedAt: now, leaseUntil: farFuture}
	written := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.written)
	}
	l.update(func() {
		l.scanNow, l.scanAt = false, farFuture
		l.startRead(func() func() error {
			<-read
			return func() error { return nil }
		})
		l.scheduler.add(queue, []*store.QueuedDelivery{{Place: store.Place{DueAt: now, ID: d.ID}}})
		l.scheduler.start(now)
		l.scheduler.finish(queue, true, 0, now)
		l.addResult(queue, store.AttemptResult{
			Attempt:    webhook.Attempt{DeliveryID: d.ID, Number: 1, At: now, HTTPStatus: 204},
			EndpointID: e.ID, DueAt: now,
		})
		l.writeFrom = time.Time{}
	})
	must.Eventually(t, patient, "the result is recorded", func() bool { return written() == 1 })
	if w.pending() != 0 || len(queue.held) != 1 {
		t.Errorf("%d deliveries wait, %d are held", w.pending(), len(queue.held))
	}
	close(read)
	must.Eventually(t, patient, "nothing is held", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(queue.held) == 0 && len(l.scheduler.busy) == 0
	})
}

// TestNextRead checks when the sender wakes up to read.
func TestNextRead(t *testing.T) {
	now := time.Now()
	soon, later := now.Add(time.Millisecond), now.Add(time.Second)
	for name, r := range map[string]reader{
		"a scan that may not be made yet":  {scanAt: now.Add(-time.Millisecond), scanFrom: soon},
		"a scan for what was queued":       {scanNow: true, scanFrom: soon, scanAt: later},
		"a look that was put off":          {look: true, lookFrom: soon, scanAt: later},
		"a read after one that has failed": {readFrom: soon, scanNow: true, look: true, scanAt: later},
	} {
		if got := (&loop{reader: r}).nextRead(now); !got.Equal(soon) {
			t.Errorf("%s: in %v, want %v", name, got.Sub(now), soon.Sub(now))
		}
	}
}
