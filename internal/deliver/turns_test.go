package deliver

import (
	"fmt"
	"maps"
	"testing"
	"time"

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

// prompted makes endpoints known as prompt.
func prompted(t *turns, now time.Time, ids ...string) {
	t.see(heads(now, ids...), now)
	t.settle(map[string]int{}, nil)
	for _, id := range ids {
		t.begin(id, now)
		t.end(id, true, time.Millisecond, now)
	}
}

func TestTurnsSee(t *testing.T) {
	turns := newTurns(8)
	if next := turns.see(nil, noon); !next.IsZero() {
		t.Errorf("next of nothing: %v", next)
	}
	next := turns.see(append(heads(noon, "a"), append(heads(noon.Add(2*time.Second), "b"), heads(noon.Add(time.Second), "c")...)...), noon)
	if !next.Equal(noon.Add(time.Second)) {
		t.Errorf("next: %v", next)
	}
	if got := turns.next(noon); len(got) != 1 || got["a"] != 1 {
		t.Errorf("turn: %v", got)
	}
}

func TestTurnsAreShared(t *testing.T) {
	turns := newTurns(6)
	prompted(turns, noon, "a", "b", "c", "d")
	for step, test := range []struct {
		want  map[string]int
		again map[string]bool
	}{
		{map[string]int{"a": 2, "b": 2, "c": 1, "d": 1}, map[string]bool{"a": true, "b": true, "c": true}},
		{map[string]int{"a": 2, "b": 2, "c": 2}, map[string]bool{"c": true}},
		{map[string]int{"c": 4}, nil},
		{map[string]int{}, nil},
	} {
		got := turns.next(noon)
		if !maps.Equal(got, test.want) {
			t.Errorf("turn %d: %v, want %v", step, got, test.want)
		}
		turns.settle(got, test.again)
	}
}

func TestTurnsRotate(t *testing.T) {
	turns := newTurns(1)
	prompted(turns, noon, "a", "b", "c")
	order := ""
	for range 7 {
		got := turns.next(noon)
		for id := range got {
			order += id
		}
		turns.settle(got, map[string]bool{"a": true, "b": true, "c": true})
	}
	if order != "abcabca" {
		t.Errorf("turns went to %s", order)
	}
}

func TestTurnsOfHangingEndpoints(t *testing.T) {
	turns := newTurns(20)
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
			for range n {
				turns.begin(id, now)
			}
		}
		return got
	}
	turns.see(heads(noon, hanging...), noon)
	if got := take(noon); len(got) != 15 || turns.inFlight != 15 {
		t.Errorf("endpoints that never answered got %v, want three quarters of 20 slots", got)
	}
	prompted(turns, noon, "good")
	if got := take(noon); !maps.Equal(got, map[string]int{"good": 4}) {
		t.Errorf("turn: %v", got)
	}
	// All time out. From now on they are known: half of the slots are the most that they get.
	later := noon.Add(10 * time.Second)
	for _, l := range turns.lanes {
		for l.inFlight > 0 {
			turns.end(l.endpointID, l.endpointID == "good", 10*time.Millisecond, later)
		}
	}
	take(later)
	if n := turns.inFlight - turns.lanes["good"].inFlight; n != 10+3 {
		t.Errorf("endpoints that hang got %d slots, want 10 and one each for the 3 that are unknown", n)
	}
	if n := turns.lanes["good"].inFlight; n != 4 {
		t.Errorf("the one that answers got %d slots", n)
	}
	turns.see(heads(later, "new"), later)
	if got := take(later); !maps.Equal(got, map[string]int{"new": 1}) {
		t.Errorf("turn: %v, want one slot for a new endpoint", got)
	}
	// The good one hangs now, too: it counts among the slow with what it has in flight, and gets nothing more.
	turns.end("good", true, 10*time.Millisecond, later)
	if got := turns.next(later.Add(2 * time.Second)); len(got) != 0 {
		t.Errorf("turn: %v", got)
	}
}

func TestTurnsForget(t *testing.T) {
	turns := newTurns(8)
	for i := range maxLanes + 1 {
		id := fmt.Sprint(i)
		turns.see(heads(noon, id), noon)
		got := turns.next(noon)
		turns.settle(got, nil)
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
		turns := newTurns(limit)
		now := noon
		inFlight := make(map[string]int)
		total := 0
		t.Repeat(map[string]func(*rapid.T){
			"see": func(t *rapid.T) {
				id := fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "endpoint"))
				turns.see(heads(now, id), now)
			},
			"exchange": func(t *rapid.T) {
				wanted := turns.next(now)
				if len(wanted) == 0 && total < limit/2 {
					for _, l := range turns.line {
						if l.inFlight == 0 || (l.inFlight < maxForEndpoint && l.reputeAt(now) != unknown) {
							t.Fatalf("%s waits although %d of %d slots are free", l.endpointID, limit-total, limit)
						}
					}
				}
				again := make(map[string]bool)
				for id, n := range wanted {
					got := rapid.IntRange(0, n).Draw(t, "got")
					again[id] = got == n
					for range got {
						turns.begin(id, now)
						inFlight[id]++
						total++
					}
				}
				turns.settle(wanted, again)
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
			"wait": func(*rapid.T) { now = now.Add(400 * time.Millisecond) },
			"": func(t *rapid.T) {
				if total > limit || turns.inFlight != total {
					t.Fatalf("%d in flight, counted %d, limit %d", total, turns.inFlight, limit)
				}
				for id, n := range inFlight {
					if n > maxForEndpoint {
						t.Fatalf("%d in flight for %s", n, id)
					}
				}
			},
		})
	})
}
