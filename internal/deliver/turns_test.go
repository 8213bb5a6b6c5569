package deliver

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"pgregory.net/rapid"
)

func heads(due time.Time, ids ...string) []store.QueueHead {
	var h []store.QueueHead
	for _, id := range ids {
		h = append(h, store.QueueHead{EndpointID: id, DueAt: due})
	}
	return h
}

const most = aheadFactor * maxForEndpoint // for a prompt endpoint

func alone(string) int { return maxForEndpoint }

// give takes n deliveries for the endpoint.
func (t *turns) give(id string, n int) {
	for range n {
		t.take(&store.ClaimedDelivery{Endpoint: &webhook.Endpoint{ID: id}})
	}
}

// sent begins all attempts that can begin, and returns how many by endpoint.
func (t *turns) sent(now time.Time) map[string]int {
	n := make(map[string]int)
	for d := t.begin(now); d != nil; d = t.begin(now) {
		n[d.Endpoint.ID]++
	}
	return n
}

// prompted makes endpoints known as prompt; they stay in the line.
func prompted(t *turns, now time.Time, ids ...string) {
	t.see(heads(now, ids...), now)
	for _, id := range ids {
		t.give(id, 1)
		t.sent(now)
		t.end(id, true, time.Millisecond, now)
	}
}

func TestTurnsSee(t *testing.T) {
	turns := newTurns(8, alone)
	if next := turns.see(nil, noon); !next.IsZero() {
		t.Errorf("next of nothing: %v", next)
	}
	next := turns.see(append(heads(noon, "a"), append(heads(noon.Add(2*time.Second), "b"), heads(noon.Add(time.Second), "c")...)...), noon)
	if !next.Equal(noon.Add(time.Second)) {
		t.Errorf("next: %v", next)
	}
	if got := turns.next(noon); !maps.Equal(got, map[string]int{"a": 1}) {
		t.Errorf("turn: %v", got)
	}
}

func TestTurnsInTheLine(t *testing.T) {
	turns := newTurns(16, alone) // two prompt endpoints may take all
	prompted(turns, noon, "a", "b", "c")
	all := map[string]bool{"a": true, "b": true, "c": true}
	for step, test := range []struct {
		want  map[string]int
		again map[string]bool
	}{
		{map[string]int{"a": most, "b": most}, all},
		{map[string]int{"c": most, "a": most}, all},
		{map[string]int{"b": most, "c": most}, map[string]bool{"c": true}},
		{map[string]int{"a": most, "c": most}, nil},
		{map[string]int{}, nil},
	} {
		got := turns.next(noon)
		if !maps.Equal(got, test.want) {
			t.Errorf("turn %d: %v, want %v", step, got, test.want)
		}
		turns.settle(got, test.again)
	}
}

func TestTurnsOfSlots(t *testing.T) {
	turns := newTurns(6, alone)
	prompted(turns, noon, "a", "b")
	turns.give("a", 10)
	turns.give("b", 10)
	if got := turns.sent(noon); !maps.Equal(got, map[string]int{"a": 3, "b": 3}) {
		t.Errorf("sent %v of 6", got)
	}
	turns.end("a", true, 0, noon)
	turns.end("a", true, 0, noon)
	if got := turns.sent(noon); got["a"]+got["b"] != 2 || turns.lanes["b"].inFlight > maxForEndpoint {
		t.Errorf("sent %v", got)
	}
}

// TestTurnsAhead shows that a prompt endpoint is given more before it has run out.
func TestTurnsAhead(t *testing.T) {
	turns := newTurns(64, alone)
	prompted(turns, noon, "a")
	for step, test := range []struct{ ended, want int }{{0, most}, {most/2 - 1, 0}, {1, most / 2}} {
		for range test.ended {
			turns.sent(noon)
			turns.end("a", true, 0, noon)
		}
		got := turns.next(noon)
		if got["a"] != test.want {
			t.Errorf("turn %d: %v, want %d", step, got, test.want)
		}
		turns.settle(got, map[string]bool{"a": true})
		turns.give("a", got["a"])
	}
	turns.sent(noon)
	if back := turns.giveBack(false, noon); len(back) != 0 {
		t.Errorf("%d were given back of an endpoint that answers", len(back))
	}
	if back := turns.giveBack(false, noon.Add(2*patience)); len(back) != most-maxForEndpoint {
		t.Errorf("%d were given back of an endpoint that hangs", len(back))
	}
	if got := turns.next(noon.Add(2 * patience)); len(got) != 0 {
		t.Errorf("an endpoint that hangs was given %v", got)
	}
	for range maxForEndpoint {
		turns.end("a", false, time.Second, noon)
	}
	if turns.taken != 0 || turns.inFlight != 0 || len(turns.busy) != 0 {
		t.Errorf("left: %+v", turns)
	}
}

func TestTurnsOfHangingEndpoints(t *testing.T) {
	turns := newTurns(20, alone)
	all := map[string]bool{"good": true, "new": true}
	var hanging []string
	for i := range 18 {
		id := fmt.Sprintf("h%02d", i)
		hanging = append(hanging, id)
		all[id] = true
	}
	take := func(now time.Time) map[string]int {
		got := turns.next(now)
		turns.settle(got, all)
		for id, n := range got {
			turns.give(id, n)
		}
		turns.sent(now)
		return got
	}
	turns.see(heads(noon, hanging...), noon)
	if got := take(noon); len(got) != 15 || turns.inFlight != 15 {
		t.Errorf("endpoints that never answered got %v, want three quarters of 20 slots", got)
	}
	prompted(turns, noon, "good")
	if got := take(noon); !maps.Equal(got, map[string]int{"good": most}) || turns.lanes["good"].inFlight != 4 {
		t.Errorf("turn: %v", got)
	}
	// All time out. From now on they are known: half of the slots are the most that they get.
	later := noon.Add(10 * time.Second)
	for _, id := range hanging {
		if turns.lanes[id].inFlight > 0 {
			turns.end(id, false, 10*time.Second, later)
		}
	}
	turns.lanes["good"].progress = later
	take(later)
	inFlight := turns.inFlight - turns.lanes["good"].inFlight
	if inFlight != 10+3 {
		t.Errorf("endpoints that hang got %d slots, want 10 and one each for the 3 that are unknown", inFlight)
	}
	turns.see(heads(later, "new"), later)
	if got := take(later); !maps.Equal(got, map[string]int{"new": 1}) {
		t.Errorf("turn: %v, want one slot for a new endpoint", got)
	}
}

func TestTurnsForget(t *testing.T) {
	turns := newTurns(8, alone)
	for i := range maxLanes + 1 {
		turns.see(heads(noon, fmt.Sprint(i)), noon)
		turns.settle(turns.next(noon), nil)
	}
	turns.see(heads(noon, "last"), noon)
	if n := len(turns.lanes); n > 2 {
		t.Errorf("%d endpoints are remembered", n)
	}
}

// TestTurnsLimits lets chance play and checks after each step that no limit is exceeded and nobody is left out.
func TestTurnsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		nodes := &presence{nodes: rapid.IntRange(1, 6).Draw(t, "nodes")}
		turns := newTurns(limit, nodes.share)
		now := noon
		inFlight := make(map[string]int)
		total := 0
		t.Repeat(map[string]func(*rapid.T){
			"see": func(t *rapid.T) {
				turns.see(heads(now, fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "endpoint"))), now)
			},
			"exchange": func(t *rapid.T) {
				wanted := turns.next(now)
				if len(wanted) == 0 && turns.taken < limit/2 {
					for _, l := range turns.line {
						if l.taken() == 0 && nodes.share(l.endpointID) > 0 {
							t.Fatalf("%s waits although %d of %d slots are free", l.endpointID, limit-total, limit)
						}
					}
				}
				again := make(map[string]bool)
				for id, n := range wanted {
					got := rapid.IntRange(0, n).Draw(t, "got")
					again[id] = got == n
					turns.give(id, got)
				}
				turns.settle(wanted, again)
			},
			"send": func(t *rapid.T) {
				for id, n := range turns.sent(now) {
					inFlight[id] += n
					total += n
				}
				for l := range turns.busy {
					if total < limit && len(l.ahead) > 0 && l.inFlight < nodes.share(l.endpointID) {
						t.Fatalf("%s has %d ahead and does not send", l.endpointID, len(l.ahead))
					}
				}
			},
			"end": func(t *rapid.T) {
				for id, n := range inFlight {
					if n > 0 {
						turns.end(id, rapid.Bool().Draw(t, "answered"), time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds"))*time.Second, now)
						inFlight[id]--
						total--
						return
					}
				}
			},
			"wait":     func(*rapid.T) { now = now.Add(400 * time.Millisecond) },
			"giveBack": func(t *rapid.T) { turns.giveBack(rapid.Bool().Draw(t, "all"), now) },
			"": func(t *rapid.T) {
				taken := 0
				for _, l := range turns.lanes {
					taken += l.taken()
					if _, busy := turns.busy[l]; busy != (l.taken() > 0) {
						t.Fatalf("busy: %v, taken: %d", busy, l.taken())
					}
				}
				if total > limit || turns.inFlight != total || turns.taken != taken || taken > takenFactor*limit {
					t.Fatalf("%d in flight, counted %d, limit %d; %d taken, counted %d", total, turns.inFlight, limit, taken, turns.taken)
				}
				for id, n := range inFlight {
					if n > nodes.share(id) {
						t.Fatalf("%d in flight for %s", n, id)
					}
				}
			},
		})
	})
}

// TestPresenceShares shows that the shares of all senders make up the slots of an endpoint, and no sender is left without.
func TestPresenceShares(t *testing.T) {
	for nodes := 1; nodes <= 9; nodes++ {
		all := make([]int, nodes)
		for endpoint := range 200 {
			sum := 0
			for number := range nodes {
				p := presence{nodes: nodes, number: number}
				n := p.share(fmt.Sprint(endpoint))
				sum += n
				all[number] += n
			}
			if sum != maxForEndpoint {
				t.Errorf("%d senders have %d slots together", nodes, sum)
			}
		}
		for number, n := range all {
			if n < 200*maxForEndpoint/nodes/2 {
				t.Errorf("sender %d of %d has %d of %d slots", number, nodes, n, 200*maxForEndpoint)
			}
		}
	}
	if n := new(presence).share("a"); n != 0 {
		t.Errorf("a sender that has not joined has %d slots", n)
	}
}
