package deliver

import (
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	// maxForEndpoint is the most deliveries in flight for one endpoint, over all nodes.
	maxForEndpoint = 4

	// patience is how long an endpoint may keep a delivery waiting and still count as prompt.
	patience = time.Second

	// maxTurns is how many endpoints are served in one exchange with the database, so that none is long.
	maxTurns = 64

	// maxLanes is how many endpoints are remembered; the idle ones beyond it are forgotten.
	maxLanes = 4096
)

// repute is what the sender has seen of an endpoint.
type repute int

const (
	unknown repute = iota // nothing yet
	prompt                // the last answer came within the patience
	slow                  // it did not, or there was none
)

// lane is what the sender knows about one endpoint.
type lane struct {
	endpointID string
	inFlight   int
	waiting    bool // it stands in line: it may have deliveries that are due
	repute     repute
	progress   time.Time // when it last began to work or answered
}

// reputeAt returns the repute at a time: an endpoint that is keeping a delivery waiting is slow, whatever it was before.
func (l *lane) reputeAt(now time.Time) repute {
	if l.inFlight > 0 && now.Sub(l.progress) > patience {
		return slow
	}
	return l.repute
}

// turns decides who may send next. Endpoints that have something to send stand in a line; each turn gives them one slot
// after the other, from the front. An endpoint has at most maxForEndpoint slots; one of which nothing is known yet has
// one. Slow endpoints together have at most half of the slots, and with the unknown ones three quarters: however many
// hang, there is room to meet new ones, and the last quarter stays with those that answer.
type turns struct {
	limit    int // slots
	inFlight int
	lanes    map[string]*lane
	line     []*lane
	busy     map[*lane]struct{} // those with deliveries in flight
}

func newTurns(limit int) *turns {
	return &turns{limit: limit, lanes: make(map[string]*lane), busy: make(map[*lane]struct{})}
}

// see puts endpoints whose queue has something due into the line, and returns when the next one has: the zero time if
// none.
func (t *turns) see(heads []store.QueueHead, now time.Time) (next time.Time) {
	if len(t.lanes) > maxLanes {
		t.forget()
	}
	for _, h := range heads {
		switch {
		case !h.DueAt.After(now):
			t.enter(h.EndpointID)
		case next.IsZero() || h.DueAt.Before(next):
			next = h.DueAt
		}
	}
	return next
}

func (t *turns) enter(endpointID string) {
	l := t.lanes[endpointID]
	if l == nil {
		l = &lane{endpointID: endpointID}
		t.lanes[endpointID] = l
	}
	if !l.waiting {
		l.waiting = true
		t.line = append(t.line, l)
	}
}

func (t *turns) forget() {
	for id, l := range t.lanes {
		if !l.waiting && l.inFlight == 0 {
			delete(t.lanes, id)
		}
	}
}

// room is how many slots there are for whom.
type room struct{ all, notPrompt, slow int }

func (t *turns) room(now time.Time) room {
	r := room{all: t.limit - t.inFlight, notPrompt: max(t.limit*3/4, 1), slow: max(t.limit/2, 1)}
	for l := range t.busy {
		switch l.reputeAt(now) {
		case prompt:
		case unknown:
			r.notPrompt -= l.inFlight
		case slow:
			r.notPrompt -= l.inFlight
			r.slow -= l.inFlight
		}
	}
	return r
}

// admits says whether the endpoint may have a slot beside n others, and takes it.
func (r *room) admits(l *lane, n int, now time.Time) bool {
	switch l.reputeAt(now) {
	case prompt:
		if n >= maxForEndpoint {
			return false
		}
	case unknown:
		if n >= 1 || r.notPrompt <= 0 {
			return false
		}
		r.notPrompt--
	case slow:
		if n >= maxForEndpoint || r.notPrompt <= 0 || r.slow <= 0 {
			return false
		}
		r.notPrompt--
		r.slow--
	}
	r.all--
	return true
}

// next returns how many deliveries to take for which endpoints now. After it, settle has to be called.
func (t *turns) next(now time.Time) map[string]int {
	free := t.room(now)
	wanted := make(map[string]int)
	for round := range maxForEndpoint {
		for _, l := range t.line {
			if free.all <= 0 {
				return wanted
			}
			n := wanted[l.endpointID]
			if n != round || (round == 0 && len(wanted) == maxTurns) {
				continue
			}
			if free.admits(l, l.inFlight+n, now) {
				wanted[l.endpointID] = n + 1
			}
		}
	}
	return wanted
}

// settle moves the endpoints that had their turn to the end of the line, or out of it when they have nothing more.
func (t *turns) settle(wanted map[string]int, again map[string]bool) {
	line := make([]*lane, 0, len(t.line))
	var served []*lane
	for _, l := range t.line {
		switch {
		case wanted[l.endpointID] == 0:
			line = append(line, l)
		case again[l.endpointID]:
			served = append(served, l)
		default:
			l.waiting = false
		}
	}
	t.line = append(line, served...)
}

// begin notes that a delivery to the endpoint is in flight.
func (t *turns) begin(endpointID string, now time.Time) {
	l := t.lanes[endpointID]
	if l.inFlight == 0 {
		l.progress = now
		t.busy[l] = struct{}{}
	}
	l.inFlight++
	t.inFlight++
}

// end notes that a delivery to the endpoint is no longer in flight, and whether it was answered in how much time.
func (t *turns) end(endpointID string, answered bool, took time.Duration, now time.Time) {
	l := t.lanes[endpointID]
	l.repute, l.progress = slow, now
	if answered && took <= patience {
		l.repute = prompt
	}
	l.inFlight--
	t.inFlight--
	if l.inFlight == 0 {
		delete(t.busy, l)
	}
}
