package deliver

import (
	"math/bits"
	"time"

	"github.com/assayhq/assay/internal/store"
)

const (
	// maxForEndpoint is the most attempts in flight for one endpoint, over all nodes.
	maxForEndpoint = 4

	// maxTaken and minTaken are how many deliveries a prompt endpoint may have taken, alone and among many: what is
	// ahead is sent while the database is busy.
	maxTaken = 32 * maxForEndpoint
	minTaken = 4 * maxForEndpoint

	// takenFactor is how many deliveries may be taken in all for each slot.
	takenFactor = 4

	// patience is how long an endpoint may keep a delivery waiting and still count as prompt.
	patience = time.Second

	// freshness is how long it may have been since an endpoint was looked up when something is sent to it: for so long
	// after its end, an endpoint may get deliveries.
	freshness = time.Second

	// maxTurns is how many endpoints are served at a time, so that no question to the database takes long.
	maxTurns = 16

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

// lane is what the sender knows about one endpoint and its queue.
type lane struct {
	endpointID string
	target     *target   // as it was
	checkedAt  time.Time // then
	leaseUntil time.Time // of the queue
	restUntil  time.Time // nothing is sent before

	after    store.Place             // in the queue, of the last one taken
	ahead    []*store.QueuedDelivery // taken, and not yet sent
	inFlight int                     // being sent
	held     map[string]store.Place  // all of them, and those whose result is not yet written down
	waiting  bool                    // it stands in line: its queue may have more that is due
	ready    bool                    // it is among those that can send at once
	repute   repute
	progress time.Time // when it last began to work or answered
}

func (l *lane) taken() int { return l.inFlight + len(l.ahead) }

// reputeAt returns the repute at a time: an endpoint that is keeping a delivery waiting is slow, whatever it was
// before.
func (l *lane) reputeAt(now time.Time) repute {
	if l.inFlight > 0 && now.Sub(l.progress) > patience {
		return slow
	}
	return l.repute
}

// mayBegin says whether an attempt that takes so long can begin: the endpoint is known to be there, and the lease will
// not end before the attempt.
func (l *lane) mayBegin(now time.Time, atMost time.Duration) bool {
	return now.Sub(l.checkedAt) <= freshness && !l.leaseUntil.Before(now.Add(atMost))
}

// turns decides who may send next. Endpoints that have something to send stand in a line; from its front,
// deliveries are read from the database for them, and of what was taken they send one after the other in turns.
//
// An endpoint of which nothing is known yet has one slot. Slow endpoints together have at most half of the slots,
// and with the unknown ones three quarters: however many hang, there is room to meet new ones, and the last quarter
// stays with those that answer.
type turns struct {
	limit    int           // slots
	needs    time.Duration // that a lease has to last when an attempt begins
	inFlight int
	taken    int // in flight and ahead
	lanes    map[string]*lane
	line     []*lane
	ready    []*lane            // those with something ahead and a free slot of their own
	busy     map[*lane]struct{} // those with something held
}

func newTurns(limit int, needs time.Duration) *turns {
	return &turns{limit: limit, needs: needs, lanes: make(map[string]*lane), busy: make(map[*lane]struct{})}
}

// see puts endpoints whose queue has something due into the line, and returns when the next one has: the zero time if
// none. mine says which endpoints are this node's.
func (t *turns) see(heads []store.QueueHead, now time.Time, mine func(endpointID string) bool) (next time.Time) {
	if len(t.lanes) > maxLanes {
		t.forget()
	}
	for _, h := range heads {
		switch {
		case !mine(h.EndpointID):
		case !h.DueAt.After(now):
			t.enter(h, now)
		case next.IsZero() || h.DueAt.Before(next):
			next = h.DueAt
		}
	}
	return next
}

func (t *turns) enter(h store.QueueHead, now time.Time) {
	l := t.lanes[h.EndpointID]
	if l == nil {
		l = &lane{endpointID: h.EndpointID, held: make(map[string]store.Place)}
		t.lanes[h.EndpointID] = l
	}
	if len(l.held) > 0 {
		first, last := l.span()
		if h.DueAt.Before(first) { // something came into the queue before what was taken
			l.after = store.Place{}
		} else if !h.LastDueAt.After(last) { // all that is due is held
			return
		}
	}
	if !now.Before(l.restUntil) {
		t.wait(l)
	}
}

// span returns when the first and the last of the deliveries that are held were due.
func (l *lane) span() (first, last time.Time) {
	for _, p := range l.held {
		if first.IsZero() || p.DueAt.Before(first) {
			first = p.DueAt
		}
		if p.DueAt.After(last) {
			last = p.DueAt
		}
	}
	return first, last
}

// rest keeps the endpoint out of the line until a time.
func (t *turns) rest(l *lane, until time.Time) {
	t.giveBack(l)
	t.served(l, false)
	l.restUntil = until
}

// strangers returns the endpoints whose queues this node has though they are not its own any more, once nothing of them
// is held; what they have ahead is given back.
func (t *turns) strangers(mine func(endpointID string) bool) []*lane {
	var idle []*lane
	for _, l := range t.lanes {
		if l.leaseUntil.IsZero() || mine(l.endpointID) {
			continue
		}
		t.giveBack(l)
		t.served(l, false)
		if len(l.held) == 0 {
			idle = append(idle, l)
		}
	}
	return idle
}

func (t *turns) wait(l *lane) {
	if !l.waiting {
		l.waiting = true
		t.line = append(t.line, l)
	}
}

func (t *turns) forget() {
	for id, l := range t.lanes {
		if !l.waiting && len(l.held) == 0 {
			delete(t.lanes, id)
		}
	}
}

// room is how many deliveries may be taken for whom.
type room struct {
	all, notPrompt, slow int
	each                 int // prompt one
}

func (t *turns) room(now time.Time) room {
	total := takenFactor * t.limit
	r := room{all: total - t.taken, notPrompt: max(t.limit*3/4, 1), slow: max(t.limit/2, 1)}
	r.each = min(max(total/max(len(t.line), len(t.busy), 1), minTaken), maxTaken)
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
func (r *room) grant(l *lane, now time.Time) int {
	n := 0
	switch l.reputeAt(now) {
	case prompt:
		if l.taken() <= r.each/2 {
			n = rounded(min(r.each-l.taken(), r.all))
		}
	case unknown:
		n = min(1-l.taken(), r.notPrompt, r.all)
		r.notPrompt -= max(n, 0)
	case slow:
		n = min(maxForEndpoint-l.taken(), r.notPrompt, r.slow, r.all)
		r.notPrompt -= max(n, 0)
		r.slow -= max(n, 0)
	}
	n = max(n, 0)
	r.all -= n
	return n
}

// rounded is a number, or the next lower power of two: the database then gets few different statements, and knows them.
func rounded(n int) int {
	if n <= 0 {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// next returns how many deliveries to read for which endpoints now; 0 for those that have some ahead, but of which
// it must be looked up whether they are still there. mine says which endpoints are this node's.
func (t *turns) next(now time.Time, mine func(endpointID string) bool) map[*lane]int {
	wanted := make(map[*lane]int)
	for l := range t.busy {
		if len(l.ahead) > 0 && !l.mayBegin(now, t.needs) && len(wanted) < maxTurns {
			wanted[l] = 0
		}
	}
	free := t.room(now)
	for _, l := range t.line {
		if free.all <= 0 || len(wanted) >= maxTurns {
			break
		}
		if !mine(l.endpointID) {
			continue
		}
		if n := free.grant(l, now); n > 0 {
			wanted[l] = n
		}
	}
	return wanted
}

// served moves an endpoint that had its turn to the end of the line, if it may have more, or else out of it.
func (t *turns) served(l *lane, more bool) {
	if !l.waiting {
		return
	}
	for i := range t.line {
		if t.line[i] == l {
			t.line = append(t.line[:i], t.line[i+1:]...)
			break
		}
	}
	l.waiting = false
	if more {
		t.wait(l)
	}
}

// take notes deliveries that were read for the endpoint, without those that are held already.
func (t *turns) take(l *lane, read []*store.QueuedDelivery) {
	for _, d := range read {
		if _, held := l.held[d.ID]; held {
			continue
		}
		l.held[d.ID] = d.Place
		l.ahead = append(l.ahead, d)
		t.taken++
	}
	if len(l.held) > 0 {
		t.busy[l] = struct{}{}
	}
	t.prepare(l)
}

// prepare puts the endpoint among those that can send, if it can.
func (t *turns) prepare(l *lane) {
	if !l.ready && len(l.ahead) > 0 && l.inFlight < maxForEndpoint {
		l.ready = true
		t.ready = append(t.ready, l)
	}
}

// begin returns the delivery to send now, or nil when no slot is free or nothing can be sent.
func (t *turns) begin(now time.Time) (*lane, *store.QueuedDelivery) {
	for len(t.ready) > 0 && t.inFlight < t.limit {
		l := t.ready[0]
		t.ready = t.ready[1:]
		l.ready = false
		if len(l.ahead) == 0 || l.inFlight >= maxForEndpoint || !l.mayBegin(now, t.needs) {
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
		return l, d
	}
	return nil, nil
}

// end notes that an attempt is over, and whether it was answered in how much time. The delivery is held until its
// result is written down.
func (t *turns) end(l *lane, answered bool, took time.Duration, now time.Time) {
	l.repute, l.progress = slow, now
	if answered && took <= patience {
		l.repute = prompt
	}
	l.inFlight--
	t.inFlight--
	t.taken--
	t.prepare(l)
}

// letGo notes that a delivery is no longer held: it can be taken again, if it is still in the queue.
func (t *turns) letGo(l *lane, deliveryID string) {
	delete(l.held, deliveryID)
	if len(l.held) == 0 {
		delete(t.busy, l)
	}
}

// giveBack lets go of what an endpoint has ahead. It comes into the line again, because its queue has more.
func (t *turns) giveBack(l *lane) {
	ahead := l.ahead
	l.ahead, l.after = nil, store.Place{}
	t.taken -= len(ahead)
	for _, d := range ahead {
		t.letGo(l, d.ID)
	}
	t.wait(l)
}

// tidy gives back what is ahead for endpoints that keep all their slots waiting.
func (t *turns) tidy(now time.Time) {
	for l := range t.busy {
		if len(l.ahead) > 0 && l.inFlight >= maxForEndpoint && l.reputeAt(now) == slow {
			t.giveBack(l)
		}
	}
}
