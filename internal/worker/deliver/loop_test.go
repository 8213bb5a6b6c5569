package deliver

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// TestPanic checks that a panic in a goroutine of the sender ends its run, which is then repeated, and not the program.
func TestPanic(t *testing.T) {
	w := sqliteWorld(t)
	s := w.sender(newReceiver(t, w.clock, nil), nil)
	s.http.now = func() time.Time { panic("no time") }
	w.queue(1, w.endpoint("https://127.0.0.1/"))
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Errorf("Run: %v, want the panic", err)
	}
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
	eventually(t, "the result is recorded", func() bool { return written() == 1 })
	if w.pending() != 0 || len(queue.held) != 1 {
		t.Errorf("%d deliveries wait, %d are held", w.pending(), len(queue.held))
	}
	close(read)
	eventually(t, "nothing is held", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(queue.held) == 0 && len(l.scheduler.busy) == 0
	})
}

// TestNextRead checks that the sender does not wake up for a scan that it may not make yet.
func TestNextRead(t *testing.T) {
	now := time.Now()
	l := &loop{reader: reader{scanAt: now.Add(-time.Millisecond), scanFrom: now.Add(time.Millisecond)}}
	if got := l.nextRead(now); got != l.scanFrom {
		t.Errorf("it wakes up %v before it may scan", l.scanFrom.Sub(got))
	}
}
