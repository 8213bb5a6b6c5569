package deliver

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/store"
	"pgregory.net/rapid"
)

func heads(due time.Time, ids ...string) []store.QueueHead {
	var h []store.QueueHead
	for _, id := range ids {
		h = append(h, store.QueueHead{EndpointID: id, DueAt: due, LastDueAt: due})
	}
	return h
}

func everything(string) bool { return true }

// newTestTurns has leases that last.
func newTestTurns(limit int) *turns { return newTurns(limit, time.Second) }

// give has n deliveries read for the endpoint.
func (t *turns) give(id string, n int, now time.Time) {
	l := t.lanes[id]
	l.checkedAt, l.leaseUntil = now, now.Add(time.Hour)
	read := make([]*store.QueuedDelivery, n)
	for i := range read {
		read[i] = &store.QueuedDelivery{Place: store.Place{DueAt: noon, ID: store.NewID()}}
	}
	t.take(l, read)
}

// sent begins all attempts that can begin, and returns how many by endpoint.
func (t *turns) sent(now time.Time) map[string]int {
	n := make(map[string]int)
	for l, d := t.begin(now); d != nil; l, d = t.begin(now) {
		n[l.endpointID]++
	}
	return n
}

// done ends an attempt and has its result written down.
func (t *turns) done(l *lane, answered bool, took time.Duration, now time.Time) {
	t.end(l, answered, took, now)
	for id := range l.held {
		if !slices.ContainsFunc(l.ahead, func(d *store.QueuedDelivery) bool { return d.ID == id }) {
			t.letGo(l, id)
			return
		}
	}
}

// wants is next by the names of the endpoints.
func (t *turns) wants(now time.Time) map[string]int {
	wanted := make(map[string]int)
	for l, n := range t.next(now, everything) {
		wanted[l.endpointID] = n
	}
	return wanted
}

// settle is what follows a reading: the endpoints have more, or not.
func (t *turns) settle(wanted map[string]int, more ...string) {
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		t.served(t.lanes[id], slices.Contains(more, id))
	}
}

// prompted makes endpoints known as prompt; they stay in the line.
func prompted(t *turns, now time.Time, ids ...string) {
	t.see(heads(now, ids...), now, everything)
	for _, id := range ids {
		t.give(id, 1, now)
		t.sent(now)
		t.done(t.lanes[id], true, time.Millisecond, now)
	}
}

func TestTurnsSee(t *testing.T) {
	turns := newTestTurns(8)
	if next := turns.see(nil, noon, everything); !next.IsZero() {
		t.Errorf("next of nothing: %v", next)
	}
	all := append(heads(noon, "a", "other"),
		append(heads(noon.Add(2*time.Second), "b"), heads(noon.Add(time.Second), "c")...)...)
	next := turns.see(all, noon, func(id string) bool { return id != "other" })
	if !next.Equal(noon.Add(time.Second)) {
		t.Errorf("next: %v", next)
	}
	if got := turns.wants(noon); !maps.Equal(got, map[string]int{"a": 1}) {
		t.Errorf("turn: %v", got)
	}
	if got := turns.next(noon, func(string) bool { return false }); len(got) != 0 {
		t.Errorf("turn: %v, though another node has the endpoint", got)
	}
}

// TestTurnsSeeWhatIsNew checks that an endpoint comes into the line for what is not held, and for nothing else.
func TestTurnsSeeWhatIsNew(t *testing.T) {
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
			turns := newTestTurns(8)
			prompted(turns, noon, "a")
			l := turns.lanes["a"]
			turns.take(l, []*store.QueuedDelivery{
				{Place: store.Place{DueAt: at(2), ID: "2"}},
				{Place: store.Place{DueAt: at(3), ID: "3"}},
			})
			l.after = store.Place{DueAt: at(3), ID: "3"}
			turns.served(l, false)
			turns.see([]store.QueueHead{{EndpointID: "a", DueAt: at(test.head), LastDueAt: at(test.last)}}, at(9), everything)
			if l.waiting != test.waits || (l.after.ID == "") != test.again {
				t.Errorf("waits: %v, after %v", l.waiting, l.after)
			}
			turns.take(l, []*store.QueuedDelivery{
				{Place: store.Place{DueAt: at(2), ID: "2"}},
				{Place: store.Place{DueAt: at(2), ID: "1"}},
			})
			if len(l.held) != 3 || l.taken() != 3 {
				t.Errorf("held: %v", l.held)
			}
		})
	}
}

func TestTurnsInTheLine(t *testing.T) {
	turns := newTestTurns(minTaken / 2) // two prompt endpoints may take all
	prompted(turns, noon, "a", "b", "c")
	for step, test := range []struct {
		want map[string]int
		more []string
	}{
		{map[string]int{"a": minTaken, "b": minTaken}, []string{"a", "b", "c"}},
		{map[string]int{"c": minTaken, "a": minTaken}, []string{"a", "b", "c"}},
		{map[string]int{"b": minTaken, "a": minTaken}, []string{"a"}},
		{map[string]int{"c": minTaken, "a": minTaken}, nil},
		{map[string]int{}, nil},
	} {
		got := turns.wants(noon)
		if !maps.Equal(got, test.want) {
			t.Errorf("turn %d: %v, want %v", step, got, test.want)
		}
		turns.settle(got, test.more...)
	}
}

func TestTurnsOfSlots(t *testing.T) {
	turns := newTestTurns(6)
	prompted(turns, noon, "a", "b")
	turns.give("a", 10, noon)
	turns.give("b", 10, noon)
	if got := turns.sent(noon); !maps.Equal(got, map[string]int{"a": 3, "b": 3}) {
		t.Errorf("sent %v of 6", got)
	}
	turns.done(turns.lanes["a"], true, 0, noon)
	turns.done(turns.lanes["a"], true, 0, noon)
	if got := turns.sent(noon); got["a"]+got["b"] != 2 || turns.lanes["b"].inFlight > maxForEndpoint {
		t.Errorf("sent %v", got)
	}
}

// TestTurnsShare checks that the fewer want to send, the more each may have ahead.
func TestTurnsShare(t *testing.T) {
	for n, each := range map[int]int{1: maxTaken, 2: maxTaken, 4: maxTaken / 2, 16: minTaken} {
		turns := newTestTurns(2 * maxTaken / takenFactor)
		var all []string
		want := make(map[string]int)
		for i := range n {
			all = append(all, fmt.Sprint(i))
			want[all[i]] = each
		}
		prompted(turns, noon, all...)
		if got := turns.wants(noon); !maps.Equal(got, want) {
			t.Errorf("%d endpoints: %v, want %d each", n, got, each)
		}
	}
}

// TestTurnsAhead checks that a prompt endpoint is given more before it has run out.
func TestTurnsAhead(t *testing.T) {
	turns := newTestTurns(64)
	prompted(turns, noon, "a")
	l := turns.lanes["a"]
	for step, test := range []struct{ ended, want int }{{0, maxTaken}, {maxTaken/2 - 1, 0}, {1, maxTaken / 2}} {
		for range test.ended {
			turns.sent(noon)
			turns.done(l, true, 0, noon)
		}
		got := turns.wants(noon)
		if got["a"] != test.want {
			t.Errorf("turn %d: %v, want %d", step, got, test.want)
		}
		turns.settle(got, "a")
		turns.give("a", got["a"], noon)
	}
	turns.sent(noon)
	turns.tidy(noon)
	if l.taken() != maxTaken {
		t.Errorf("%d are taken of an endpoint that answers", l.taken())
	}
	turns.tidy(noon.Add(2 * patience))
	if l.taken() != maxForEndpoint || len(l.ahead) != 0 || l.after != (store.Place{}) || !l.waiting {
		t.Errorf("an endpoint that hangs: %+v", l)
	}
	if got := turns.wants(noon.Add(2 * patience)); len(got) != 0 {
		t.Errorf("an endpoint that hangs was given %v", got)
	}
	for range maxForEndpoint {
		turns.done(l, false, time.Second, noon)
	}
	if turns.taken != 0 || turns.inFlight != 0 || len(turns.busy) != 0 {
		t.Errorf("left: %+v", turns)
	}
}

// TestTurnsAskAgain checks that nothing is sent to an endpoint that was not looked up lately, or under a lease that
// ends.
func TestTurnsAskAgain(t *testing.T) {
	for name, spoil := range map[string]func(l *lane){
		"NotFresh": func(l *lane) { l.checkedAt = noon.Add(-freshness - 1) },
		"Lease":    func(l *lane) { l.leaseUntil = noon.Add(time.Second - 1) },
	} {
		t.Run(name, func(t *testing.T) {
			turns := newTestTurns(8)
			prompted(turns, noon, "a")
			turns.settle(turns.wants(noon))
			turns.give("a", 2, noon)
			l := turns.lanes["a"]
			spoil(l)
			if got := turns.sent(noon); len(got) != 0 {
				t.Errorf("sent %v", got)
			}
			if got := turns.wants(noon); !maps.Equal(got, map[string]int{"a": 0}) {
				t.Errorf("turn: %v", got)
			}
			l.checkedAt, l.leaseUntil = noon, noon.Add(time.Second)
			turns.prepare(l)
			if got := turns.sent(noon); got["a"] != 2 {
				t.Errorf("sent %v", got)
			}
		})
	}
}

func TestTurnsOfHangingEndpoints(t *testing.T) {
	turns := newTestTurns(20)
	all := []string{"good", "new"}
	for i := range 18 {
		all = append(all, fmt.Sprintf("h%02d", i))
	}
	hanging := all[2:]
	take := func(now time.Time) map[string]int {
		got := turns.wants(now)
		turns.settle(got, all...)
		for id, n := range got {
			turns.give(id, n, now)
		}
		turns.sent(now)
		return got
	}
	turns.see(heads(noon, hanging...), noon, everything)
	if got := take(noon); len(got) != 15 || turns.inFlight != 15 {
		t.Errorf("endpoints that never answered got %v, want three quarters of 20 slots", got)
	}
	prompted(turns, noon, "good")
	if got := take(noon); !maps.Equal(got, map[string]int{"good": minTaken}) || turns.lanes["good"].inFlight != 4 {
		t.Errorf("turn: %v", got)
	}
	// All time out. From now on they are known: half of the slots are the most that they get.
	later := noon.Add(10 * time.Second)
	for _, id := range hanging {
		if l := turns.lanes[id]; l.inFlight > 0 {
			turns.done(l, false, 10*time.Second, later)
		}
	}
	turns.lanes["good"].progress, turns.lanes["good"].checkedAt = later, later
	take(later)
	inFlight := turns.inFlight - turns.lanes["good"].inFlight
	if inFlight != 10+3 {
		t.Errorf("endpoints that hang got %d slots, want 10 and one each for the 3 that are unknown", inFlight)
	}
	turns.see(heads(later, "new"), later, everything)
	if got := take(later); !maps.Equal(got, map[string]int{"new": 1}) {
		t.Errorf("turn: %v, want one slot for a new endpoint", got)
	}
}

func TestTurnsRest(t *testing.T) {
	turns := newTestTurns(8)
	prompted(turns, noon, "a")
	turns.give("a", 8, noon)
	later := noon.Add(time.Minute)
	turns.rest(turns.lanes["a"], later)
	turns.see(heads(noon, "a"), later.Add(-1), everything)
	if got := turns.wants(noon); len(got) != 0 || turns.taken != 0 {
		t.Errorf("turn: %v", got)
	}
	turns.see(heads(noon, "a"), later, everything)
	if got := turns.wants(later); len(got) != 1 {
		t.Errorf("turn: %v", got)
	}
}

func TestTurnsStrangers(t *testing.T) {
	turns := newTestTurns(8)
	prompted(turns, noon, "a", "b", "c")
	turns.give("a", 8, noon)
	turns.give("b", 8, noon)
	l, d := turns.begin(noon)
	got := turns.strangers(func(id string) bool { return id == "c" })
	if len(got) != 1 || got[0] == l || turns.taken != 1 {
		t.Errorf("strangers: %v, taken %d", got, turns.taken)
	}
	turns.end(l, true, 0, noon)
	turns.letGo(l, d.ID)
	if got := turns.strangers(func(id string) bool { return id == "c" }); len(got) != 2 {
		t.Errorf("strangers: %v", got)
	}
}

func TestTurnsForget(t *testing.T) {
	turns := newTestTurns(8)
	for i := range maxLanes + 1 {
		turns.see(heads(noon, fmt.Sprint(i)), noon, everything)
		turns.settle(turns.wants(noon))
	}
	turns.see(heads(noon, "last"), noon, everything)
	if n := len(turns.lanes); n > 2 {
		t.Errorf("%d endpoints are remembered", n)
	}
}

// TestTurnsLimits lets chance play and checks after each step that no limit is exceeded and nobody is left out.
func TestTurnsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		turns := newTestTurns(limit)
		now := noon
		inFlight := make(map[string]int)
		total := 0
		lane := func(t *rapid.T) *lane {
			for _, id := range slices.Sorted(maps.Keys(turns.lanes)) {
				if rapid.Bool().Draw(t, "this") {
					return turns.lanes[id]
				}
			}
			t.Skip("no endpoint")
			return nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"see": func(t *rapid.T) {
				turns.see(heads(now, fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "endpoint"))), now, everything)
			},
			"read": func(t *rapid.T) {
				wanted := turns.wants(now)
				if len(wanted) == 0 && turns.taken < limit/2 {
					for _, l := range turns.line {
						if l.taken() == 0 {
							t.Fatalf("%s waits although %d of %d slots are free", l.endpointID, limit-total, limit)
						}
					}
				}
				for _, id := range slices.Sorted(maps.Keys(wanted)) {
					got := rapid.IntRange(0, wanted[id]).Draw(t, "got")
					turns.served(turns.lanes[id], got == wanted[id])
					turns.give(id, got, now)
				}
			},
			"send": func(t *rapid.T) {
				for id, n := range turns.sent(now) {
					inFlight[id] += n
					total += n
				}
				for l := range turns.busy {
					if total < limit && len(l.ahead) > 0 && l.inFlight < maxForEndpoint && l.mayBegin(now, turns.needs) {
						t.Fatalf("%s has %d ahead and does not send", l.endpointID, len(l.ahead))
					}
				}
			},
			"end": func(t *rapid.T) {
				l := lane(t)
				if inFlight[l.endpointID] == 0 {
					t.Skip("nothing in flight")
				}
				turns.done(l, rapid.Bool().Draw(t, "answered"), time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds"))*time.Second,
					now)
				inFlight[l.endpointID]--
				total--
			},
			"wait":     func(*rapid.T) { now = now.Add(400 * time.Millisecond) },
			"giveBack": func(t *rapid.T) { turns.giveBack(lane(t)) },
			"tidy":     func(*rapid.T) { turns.tidy(now) },
			"": func(t *rapid.T) {
				taken := 0
				for _, l := range turns.lanes {
					taken += l.taken()
					if l.inFlight > maxForEndpoint || l.inFlight != inFlight[l.endpointID] {
						t.Fatalf("%d in flight for %s, counted %d", inFlight[l.endpointID], l.endpointID, l.inFlight)
					}
				}
				if total > limit || turns.inFlight != total || turns.taken != taken || taken > takenFactor*limit {
					t.Fatalf("%d in flight, counted %d, limit %d; %d taken, counted %d", total, turns.inFlight, limit, taken,
						turns.taken)
				}
			},
		})
	})
}

// TestPresence checks that all senders choose the same one for an endpoint, that each has its part, and that
// endpoints of those that stay do not change hands.
func TestPresence(t *testing.T) {
	const endpoints = 1000
	owner := make(map[string]string)
	var nodes []string
	for n := 1; n <= 6; n++ {
		nodes = append(nodes, store.NewID())
		p := new(presence)
		if !p.set(nodes) || p.set(nodes) {
			t.Error("news is not told from what is known")
		}
		parts := make(map[string]int)
		for i := range endpoints {
			id := fmt.Sprint(i)
			var chosen []string
			for _, node := range nodes {
				if p.chooses(node, id) {
					chosen = append(chosen, node)
				}
			}
			if len(chosen) != 1 {
				t.Fatalf("endpoint %s has %d senders", id, len(chosen))
			}
			if chosen[0] != owner[id] && chosen[0] != nodes[n-1] {
				t.Errorf("endpoint %s went from one old sender to another", id)
			}
			owner[id] = chosen[0]
			parts[chosen[0]]++
		}
		for _, node := range nodes {
			if parts[node] < endpoints/n/2 {
				t.Errorf("%d of %d endpoints for one of %d senders", parts[node], endpoints, n)
			}
		}
	}
	if !new(presence).chooses("a", "b") {
		t.Error("a sender that knows of no other does not send")
	}
}
