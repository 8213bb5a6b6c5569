package deliver

import (
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	// maxForEndpoint is the most attempts in flight for one endpoint, over all nodes.
	maxForEndpoint = 4

	// aheadFactor is how many deliveries are taken for each slot of a prompt endpoint: what is taken ahead is sent while
	// the database is busy.
	aheadFactor = 8

	// takenFactor is how many deliveries may be taken in all for each slot.
	takenFactor = 4

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
	ahead      []*store.ClaimedDelivery // taken, and not yet sent
	waiting    bool                     // it stands in line: it may have more that is due
	ready      bool                     // it is among those that can send at once
	repute     repute
	progress   time.Time // when it last began to work or answered
}

func (l *lane) taken() int { return l.inFlight + len(l.ahead) }

// reputeAt returns the repute at a time: an endpoint that is keeping a delivery waiting is slow, whatever it was before.
func (l *lane) reputeAt(now time.Time) repute {
	if l.inFlight > 0 && now.Sub(l.progress) > patience {
		return slow
	}
	return l.repute
}

// turns decides who may send next. Endpoints that have something to send stand in a line; from its front, deliveries are
// taken from the database for them, and of what is taken they send one after the other in turns.
//
// An endpoint has a share of slots; one of which nothing is known yet has one slot. Slow endpoints together have at most
// half of the slots, and with the unknown ones three quarters: however many hang, there is room to meet new ones, and
// the last quarter stays with those that answer.
type turns struct {
	limit    int                         // slots
	share    func(endpointID string) int // of an endpoint, on this node
	inFlight int
	taken    int // in flight and ahead
	lanes    map[string]*lane
	line     []*lane
	ready    []*lane            // those with something ahead and a free slot of their own
	busy     map[*lane]struct{} // those with something taken
}

func newTurns(limit int, share func(endpointID string) int) *turns {
	return &turns{limit: limit, share: share, lanes: make(map[string]*lane), busy: make(map[*lane]struct{})}
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
		if !l.waiting && l.taken() == 0 {
			delete(t.lanes, id)
		}
	}
}

// room is how many deliveries may be taken for whom.
type room struct{ all, notPrompt, slow int }

func (t *turns) room(now time.Time) room {
	r := room{all: takenFactor*t.limit - t.taken, notPrompt: max(t.limit*3/4, 1), slow: max(t.limit/2, 1)}
	for l := range t.busy {
		switch l.reputeAt(now) {
		case prompt:
		case unknown:
			r.notPrompt -= l.taken()
		case slow:
			r.notPrompt -= l.taken()
			r.slow -= l.taken()
		}
	}
	return r
}

// grant returns how many deliveries to take for the endpoint, and takes the room for them. A prompt endpoint is given
// many at a time, and no more before half of them are sent.
func (r *room) grant(l *lane, share int, now time.Time) int {
	n := 0
	switch l.reputeAt(now) {
	case prompt:
		if most := aheadFactor * share; l.taken() <= most/2 {
			n = min(most-l.taken(), r.all)
		}
	case unknown:
		n = min(min(share, 1)-l.taken(), r.notPrompt, r.all)
		r.notPrompt -= max(n, 0)
	case slow:
		n = min(share-l.taken(), r.notPrompt, r.slow, r.all)
		r.notPrompt -= max(n, 0)
		r.slow -= max(n, 0)
	}
	n = max(n, 0)
	r.all -= n
	return n
}

// next returns how many deliveries to take for which endpoints now. After it, settle has to be called.
func (t *turns) next(now time.Time) map[string]int {
	free := t.room(now)
	wanted := make(map[string]int)
	for _, l := range t.line {
		if free.all <= 0 || len(wanted) == maxTurns {
			break
		}
		if n := free.grant(l, t.share(l.endpointID), now); n > 0 {
			wanted[l.endpointID] = n
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

// take notes a delivery that was taken.
func (t *turns) take(d *store.ClaimedDelivery) {
	l := t.lanes[d.Endpoint.ID]
	l.ahead = append(l.ahead, d)
	t.taken++
	t.busy[l] = struct{}{}
	t.prepare(l)
}

// prepare puts the endpoint among those that can send, if it can.
func (t *turns) prepare(l *lane) {
	if !l.ready && len(l.ahead) > 0 && l.inFlight < t.share(l.endpointID) {
		l.ready = true
		t.ready = append(t.ready, l)
	}
}

// begin returns the delivery to send now, or nil when no slot is free or nothing is left.
func (t *turns) begin(now time.Time) *store.ClaimedDelivery {
	for len(t.ready) > 0 && t.inFlight < t.limit {
		l := t.ready[0]
		t.ready = t.ready[1:]
		l.ready = false
		if len(l.ahead) == 0 || l.inFlight >= t.share(l.endpointID) {
			continue
		}
		d := l.ahead[0]
		l.ahead = l.ahead[1:]
		if l.inFlight == 0 {
			l.progress = now
		}
		l.inFlight++
		t.inFlight++
		t.prepare(l)
		return d
	}
	return nil
}

// end notes that an attempt is over, and whether it was answered in how much time.
func (t *turns) end(endpointID string, answered bool, took time.Duration, now time.Time) {
	l := t.lanes[endpointID]
	l.repute, l.progress = slow, now
	if answered && took <= patience {
		l.repute = prompt
	}
	l.inFlight--
	t.inFlight--
	t.taken--
	t.rest(l)
	t.prepare(l)
}

// rest notes an endpoint that has nothing taken any more.
func (t *turns) rest(l *lane) {
	if l.taken() == 0 {
		delete(t.busy, l)
	}
}

// giveBack returns what was taken ahead for endpoints that have turned out slow or, if all is set, for all of them.
func (t *turns) giveBack(all bool, now time.Time) []*store.ClaimedDelivery {
	var back []*store.ClaimedDelivery
	for l := range t.busy {
		if len(l.ahead) == 0 || (!all && l.reputeAt(now) != slow) || (!all && l.inFlight < t.share(l.endpointID)) {
			continue
		}
		back = append(back, l.ahead...)
		t.taken -= len(l.ahead)
		l.ahead = nil
		t.rest(l)
	}
	return back
}
