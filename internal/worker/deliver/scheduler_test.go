package deliver

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

func heads(due time.Time, ids ...string) []store.QueueHead {
	var h []store.QueueHead
	for _, id := range ids {
		h = append(h, store.QueueHead{EndpointID: id, DueAt: due, LastDueAt: due})
	}
	return h
}

func everything(string) bool { return true }

// newTestScheduler returns a scheduler with short attempts, so that leases suffice.
func newTestScheduler(limit int) *scheduler { return newScheduler(limit, time.Second) }

// give buffers n deliveries for the endpoint.
func (s *scheduler) give(id string, n int, now time.Time) {
	q := s.queues[id]
	q.checkedAt, q.leaseUntil = now, now.Add(time.Hour)
	read := make([]*store.QueuedDelivery, n)
	for i := range read {
		read[i] = &store.QueuedDelivery{Place: store.Place{DueAt: noon, ID: uuid7.New()}}
	}
	s.add(q, read)
}

// sent starts all attempts that can start, and returns their number by endpoint.
func (s *scheduler) sent(now time.Time) map[string]int {
	n := make(map[string]int)
	for q, d := s.start(now); d != nil; q, d = s.start(now) {
		n[q.endpointID]++
	}
	return n
}

// done finishes an attempt and drops its delivery.
func (s *scheduler) done(q *endpointQueue, answered bool, took time.Duration, now time.Time) {
	s.finish(q, answered, took, now)
	for id := range q.held {
		if !slices.ContainsFunc(q.buffer, func(d *store.QueuedDelivery) bool { return d.ID == id }) {
			s.drop(q, id)
			return
		}
	}
}

// wants returns nextReads by endpoint id.
func (s *scheduler) wants(now time.Time) map[string]int {
	wanted := make(map[string]int)
	for q, n := range s.nextReads(now, everything) {
		wanted[q.endpointID] = n
	}
	return wanted
}

// settle requeues the queues that were read; more are those with further deliveries.
func (s *scheduler) settle(wanted map[string]int, more ...string) {
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		s.requeue(s.queues[id], slices.Contains(more, id))
	}
}

// makeFast gives endpoints a fast response; they stay in the line.
func makeFast(s *scheduler, now time.Time, ids ...string) {
	s.observe(heads(now, ids...), now, everything)
	for _, id := range ids {
		s.give(id, 1, now)
		s.sent(now)
		s.done(s.queues[id], true, time.Millisecond, now)
	}
}

func TestSchedulerObserves(t *testing.T) {
	scheduler := newTestScheduler(8)
	if next := scheduler.observe(nil, noon, everything); !next.IsZero() {
		t.Errorf("next of nothing: %v", next)
	}
	all := append(heads(noon, "a", "other"),
		append(heads(noon.Add(2*time.Second), "b"), heads(noon.Add(time.Second), "c")...)...)
	next := scheduler.observe(all, noon, func(id string) bool { return id != "other" })
	if !next.Equal(noon.Add(time.Second)) {
		t.Errorf("next: %v", next)
	}
	if got := scheduler.wants(noon); !maps.Equal(got, map[string]int{"a": 1}) {
		t.Errorf("turn: %v", got)
	}
	if got := scheduler.nextReads(noon, func(string) bool { return false }); len(got) != 0 {
		t.Errorf("turn: %v, though another node has the endpoint", got)
	}
}

// TestSchedulerObservesNewDeliveries checks that a queue enters the line only for deliveries that are not held.
func TestSchedulerObservesNewDeliveries(t *testing.T) {
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	for name, test := range map[string]struct {
		head, last int
		waits      bool
		again      bool // from the beginning of the queue
	}{
		"NothingNew":            {head: 2, last: 3},
		"After":                 {head: 2, last: 4, waits: true},
		"Before":                {head: 1, last: 3, waits: true, again: true},
		"TheFirstIsWrittenDown": {head: 3, last: 3},
	} {
		t.Run(name, func(t *testing.T) {
			scheduler := newTestScheduler(8)
			makeFast(scheduler, noon, "a")
			q := scheduler.queues["a"]
			scheduler.add(q, []*store.QueuedDelivery{
				{Place: store.Place{DueAt: at(2), ID: "2"}},
				{Place: store.Place{DueAt: at(3), ID: "3"}},
			})
			q.cursor = store.Place{DueAt: at(3), ID: "3"}
			scheduler.requeue(q, false)
			scheduler.observe([]store.QueueHead{{EndpointID: "a", DueAt: at(test.head), LastDueAt: at(test.last)}}, at(9),
				everything)
			if q.waiting != test.waits || (q.cursor.ID == "") != test.again {
				t.Errorf("waits: %v, after %v", q.waiting, q.cursor)
			}
			scheduler.add(q, []*store.QueuedDelivery{
				{Place: store.Place{DueAt: at(2), ID: "2"}},
				{Place: store.Place{DueAt: at(2), ID: "1"}},
			})
			if len(q.held) != 3 || q.load() != 3 {
				t.Errorf("held: %v", q.held)
			}
		})
	}
}

func TestSchedulerRoundRobin(t *testing.T) {
	scheduler := newTestScheduler(minLoad / 2) // room for two fast endpoints
	makeFast(scheduler, noon, "a", "b", "c")
	for step, test := range []struct {
		want map[string]int
		more []string
	}{
		{map[string]int{"a": minLoad, "b": minLoad}, []string{"a", "b", "c"}},
		{map[string]int{"c": minLoad, "a": minLoad}, []string{"a", "b", "c"}},
		{map[string]int{"b": minLoad, "a": minLoad}, []string{"a"}},
		{map[string]int{"c": minLoad, "a": minLoad}, nil},
		{map[string]int{}, nil},
	} {
		got := scheduler.wants(noon)
		if !maps.Equal(got, test.want) {
			t.Errorf("turn %d: %v, want %v", step, got, test.want)
		}
		scheduler.settle(got, test.more...)
	}
}

func TestSchedulerSharesSlots(t *testing.T) {
	scheduler := newTestScheduler(6)
	makeFast(scheduler, noon, "a", "b")
	scheduler.give("a", 10, noon)
	scheduler.give("b", 10, noon)
	if got := scheduler.sent(noon); !maps.Equal(got, map[string]int{"a": 3, "b": 3}) {
		t.Errorf("sent %v of 6", got)
	}
	scheduler.done(scheduler.queues["a"], true, 0, noon)
	scheduler.done(scheduler.queues["a"], true, 0, noon)
	if got := scheduler.sent(noon); got["a"]+got["b"] != 2 || scheduler.queues["b"].inFlight > maxInFlightPerEndpoint {
		t.Errorf("sent %v", got)
	}
}

// TestQuotaPerEndpoint checks that the buffer of an endpoint is larger if fewer endpoints are busy.
func TestQuotaPerEndpoint(t *testing.T) {
	for n, each := range map[int]int{1: maxLoad, 2: maxLoad, 4: maxLoad / 2, 16: minLoad} {
		scheduler := newTestScheduler(2 * maxLoad / loadPerSlot)
		var all []string
		want := make(map[string]int)
		for i := range n {
			all = append(all, fmt.Sprint(i))
			want[all[i]] = each
		}
		makeFast(scheduler, noon, all...)
		if got := scheduler.wants(noon); !maps.Equal(got, want) {
			t.Errorf("%d endpoints: %v, want %d each", n, got, each)
		}
	}
}

// TestSchedulerRefillsBuffer checks that a fast endpoint is read again before its buffer is empty.
func TestSchedulerRefillsBuffer(t *testing.T) {
	scheduler := newTestScheduler(64)
	makeFast(scheduler, noon, "a")
	q := scheduler.queues["a"]
	for step, test := range []struct{ ended, want int }{{0, maxLoad}, {maxLoad/2 - 1, 0}, {1, maxLoad / 2}} {
		for range test.ended {
			scheduler.sent(noon)
			scheduler.done(q, true, 0, noon)
		}
		got := scheduler.wants(noon)
		if got["a"] != test.want {
			t.Errorf("turn %d: %v, want %d", step, got, test.want)
		}
		scheduler.settle(got, "a")
		scheduler.give("a", got["a"], noon)
	}
	scheduler.sent(noon)
	scheduler.releaseStuck(noon)
	if q.load() != maxLoad {
		t.Errorf("%d are taken of an endpoint that answers", q.load())
	}
	scheduler.releaseStuck(noon.Add(2 * slowAfter))
	if q.load() != maxInFlightPerEndpoint || len(q.buffer) != 0 || q.cursor != (store.Place{}) || !q.waiting {
		t.Errorf("an endpoint that hangs: %+v", q)
	}
	if got := scheduler.wants(noon.Add(2 * slowAfter)); len(got) != 0 {
		t.Errorf("an endpoint that hangs was given %v", got)
	}
	for range maxInFlightPerEndpoint {
		scheduler.done(q, false, time.Second, noon)
	}
	if scheduler.load != 0 || scheduler.inFlight != 0 || len(scheduler.busy) != 0 {
		t.Errorf("left: %+v", scheduler)
	}
}

// TestSchedulerChecksEndpointAndLease checks that no attempt starts after an old lookup or with a short lease.
func TestSchedulerChecksEndpointAndLease(t *testing.T) {
	for name, spoil := range map[string]func(q *endpointQueue){
		"NotFresh": func(q *endpointQueue) { q.checkedAt = noon.Add(-maxCheckAge - 1) },
		"Lease":    func(q *endpointQueue) { q.leaseUntil = noon.Add(time.Second - 1) },
	} {
		t.Run(name, func(t *testing.T) {
			scheduler := newTestScheduler(8)
			makeFast(scheduler, noon, "a")
			scheduler.settle(scheduler.wants(noon))
			scheduler.give("a", 2, noon)
			q := scheduler.queues["a"]
			spoil(q)
			if got := scheduler.sent(noon); len(got) != 0 {
				t.Errorf("sent %v", got)
			}
			if got := scheduler.wants(noon); !maps.Equal(got, map[string]int{"a": 0}) {
				t.Errorf("turn: %v", got)
			}
			q.checkedAt, q.leaseUntil = noon, noon.Add(time.Second)
			scheduler.markReady(q)
			if got := scheduler.sent(noon); got["a"] != 2 {
				t.Errorf("sent %v", got)
			}
		})
	}
}

func TestQuotaOfSlowEndpoints(t *testing.T) {
	scheduler := newTestScheduler(20)
	all := []string{"good", "new"}
	for i := range 18 {
		all = append(all, fmt.Sprintf("h%02d", i))
	}
	hanging := all[2:]
	take := func(now time.Time) map[string]int {
		got := scheduler.wants(now)
		scheduler.settle(got, all...)
		for id, n := range got {
			scheduler.give(id, n, now)
		}
		scheduler.sent(now)
		return got
	}
	scheduler.observe(heads(noon, hanging...), noon, everything)
	if got := take(noon); len(got) != 15 || scheduler.inFlight != 15 {
		t.Errorf("endpoints that never answered got %v, want three quarters of 20 slots", got)
	}
	makeFast(scheduler, noon, "good")
	if got := take(noon); !maps.Equal(got, map[string]int{"good": minLoad}) || scheduler.queues["good"].inFlight != 4 {
		t.Errorf("turn: %v", got)
	}
	// All time out and become slow: they get at most half of the slots.
	later := noon.Add(10 * time.Second)
	for _, id := range hanging {
		if q := scheduler.queues[id]; q.inFlight > 0 {
			scheduler.done(q, false, 10*time.Second, later)
		}
	}
	scheduler.queues["good"].lastProgress, scheduler.queues["good"].checkedAt = later, later
	take(later)
	inFlight := scheduler.inFlight - scheduler.queues["good"].inFlight
	if inFlight != 10+3 {
		t.Errorf("endpoints that hang got %d slots, want 10 and one each for the 3 that are unknown", inFlight)
	}
	scheduler.observe(heads(later, "new"), later, everything)
	if got := take(later); !maps.Equal(got, map[string]int{"new": 1}) {
		t.Errorf("turn: %v, want one slot for a new endpoint", got)
	}
}

func TestSchedulerPause(t *testing.T) {
	scheduler := newTestScheduler(8)
	makeFast(scheduler, noon, "a")
	scheduler.give("a", 8, noon)
	later := noon.Add(time.Minute)
	scheduler.pause(scheduler.queues["a"], later)
	scheduler.observe(heads(noon, "a"), later.Add(-1), everything)
	if got := scheduler.wants(noon); len(got) != 0 || scheduler.load != 0 {
		t.Errorf("turn: %v", got)
	}
	scheduler.observe(heads(noon, "a"), later, everything)
	if got := scheduler.wants(later); len(got) != 1 {
		t.Errorf("turn: %v", got)
	}
}

func TestSchedulerNotMine(t *testing.T) {
	scheduler := newTestScheduler(8)
	makeFast(scheduler, noon, "a", "b", "c")
	scheduler.give("a", 8, noon)
	scheduler.give("b", 8, noon)
	q, d := scheduler.start(noon)
	got := scheduler.notMine(func(id string) bool { return id == "c" })
	if len(got) != 1 || got[0] == q || scheduler.load != 1 {
		t.Errorf("other endpoints: %v, taken %d", got, scheduler.load)
	}
	scheduler.finish(q, true, 0, noon)
	scheduler.drop(q, d.ID)
	if got := scheduler.notMine(func(id string) bool { return id == "c" }); len(got) != 2 {
		t.Errorf("other endpoints: %v", got)
	}
}

// TestSchedulerLine checks that what another node has taken over before it was read leaves the line, and with it the
// share that it would have had.
func TestSchedulerLine(t *testing.T) {
	scheduler := newTestScheduler(8)
	ids := []string{"mine"}
	for i := range 100 {
		ids = append(ids, fmt.Sprint(i))
	}
	scheduler.observe(heads(noon, ids...), noon, everything)
	if got := scheduler.notMine(func(id string) bool { return id == "mine" }); len(got) != 0 {
		t.Errorf("%d queues that were never leased are to be given back", len(got))
	}
	if len(scheduler.line) != 1 || scheduler.line[0].endpointID != "mine" {
		t.Errorf("%d queues wait", len(scheduler.line))
	}
	scheduler.forgetIdle()
	if n := len(scheduler.queues); n != 1 {
		t.Errorf("%d endpoints are remembered", n)
	}
}

func TestSchedulerForgetsIdle(t *testing.T) {
	scheduler := newTestScheduler(8)
	for i := range maxQueues + 1 {
		scheduler.observe(heads(noon, fmt.Sprint(i)), noon, everything)
		scheduler.settle(scheduler.wants(noon))
	}
	scheduler.observe(heads(noon, "last"), noon, everything)
	if n := len(scheduler.queues); n > 2 {
		t.Errorf("%d endpoints are remembered", n)
	}
}

// TestSchedulerLimits runs random steps and checks after each that no limit is exceeded and no queue starves.
func TestSchedulerLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		scheduler := newTestScheduler(limit)
		now := noon
		inFlight := make(map[string]int)
		total := 0
		anyQueue := func(t *rapid.T) *endpointQueue {
			for _, id := range slices.Sorted(maps.Keys(scheduler.queues)) {
				if rapid.Bool().Draw(t, "this") {
					return scheduler.queues[id]
				}
			}
			t.Skip("no endpoint")
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"observe": func(t *rapid.T) {
				scheduler.observe(heads(now, fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "endpoint"))), now, everything)
			},
			"read": func(t *rapid.T) {
				wanted := scheduler.wants(now)
				if len(wanted) == 0 && scheduler.load < limit/2 {
					for _, q := range scheduler.line {
						if q.load() == 0 {
							t.Fatalf("%s waits although %d of %d slots are free", q.endpointID, limit-total, limit)
						}
					}
				}
				for _, id := range slices.Sorted(maps.Keys(wanted)) {
					got := rapid.IntRange(0, wanted[id]).Draw(t, "got")
					scheduler.requeue(scheduler.queues[id], got == wanted[id])
					scheduler.give(id, got, now)
				}
			},
			"send": func(t *rapid.T) {
				for id, n := range scheduler.sent(now) {
					inFlight[id] += n
					total += n
				}
				for _, q := range scheduler.busy {
					if total < limit && len(q.buffer) > 0 && q.inFlight < maxInFlightPerEndpoint &&
						q.canStart(now, scheduler.minLease) {
						t.Fatalf("%s has %d ahead and does not send", q.endpointID, len(q.buffer))
					}
				}
			},
			"end": func(t *rapid.T) {
				q := anyQueue(t)
				if inFlight[q.endpointID] == 0 {
					t.Skip("nothing in flight")
				}
				scheduler.done(q, rapid.Bool().Draw(t, "answered"),
					time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds"))*time.Second, now)
				inFlight[q.endpointID]--
				total--
			},
			"wait":         func(*rapid.T) { now = now.Add(400 * time.Millisecond) },
			"release":      func(t *rapid.T) { scheduler.release(anyQueue(t)) },
			"releaseStuck": func(*rapid.T) { scheduler.releaseStuck(now) },
			"": func(t *rapid.T) {
				taken := 0
				for _, q := range scheduler.queues {
					taken += q.load()
					if q.inFlight > maxInFlightPerEndpoint || q.inFlight != inFlight[q.endpointID] {
						t.Fatalf("%d in flight for %s, counted %d", inFlight[q.endpointID], q.endpointID, q.inFlight)
					}
					if busy := slices.Index(scheduler.busy, q); (busy >= 0) != (len(q.held) > 0) || busy >= 0 && busy != q.busyAt {
						t.Fatalf("%s holds %d and is busy at %d, noted %d", q.endpointID, len(q.held), busy, q.busyAt)
					}
				}
				if total > limit || scheduler.inFlight != total || scheduler.load != taken || taken > loadPerSlot*limit {
					t.Fatalf("%d in flight, counted %d, limit %d; %d taken, counted %d", total, scheduler.inFlight, limit, taken,
						scheduler.load)
				}
			},
		})
	})
}
