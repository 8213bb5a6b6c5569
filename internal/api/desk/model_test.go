package desk_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
)

// model is what a desk should be after some moves: as simple as it can be told, without a database.
type model struct {
	w       *world
	ctx     context.Context
	credits int64
	orders  map[string]*modelOrder
	others  map[order.Status]int64 // orders that were there before
	staff   []*service.NewStaff
}

type modelOrder struct {
	status   order.Status
	assignee string
	due      time.Time
	left     time.Duration // of the clock, while it is paused
	since    time.Time     // the last activity, or the time of the photo request
	refunded bool
}

const (
	modelActivityGap  = time.Minute
	photoExpiry       = 7 * 24 * time.Hour
	codeInvalid       = "invalid-transition"
	codeClaimed       = "order-claimed"
	codeForbidden     = "forbidden"
	codeNotWaiting    = "order-not-awaiting-update-photos"
	modelInitialGrant = 500 // runs out now and then
)

// TestModel makes random moves of reviewers, an administrator, the customer and housekeeping, and checks the desk
// against the model after each.
func TestModel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rapid.Check(t, func(rt *rapid.T) {
			m := newModel(t, rt, w)
			defer m.cancelAll(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"Create": m.create, "Next": m.next, "Look": m.look, "Claim": m.claim, "Release": m.release,
				"RequestPhotos": m.requestPhotos, "Complete": m.complete, "Fail": m.fail, "Cancel": m.cancel, "Submit": m.submit,
				"ExpireClaims": m.expireClaims, "ExpireRequests": m.expireRequests, "Wait": m.wait, "": m.check,
			})
			m.checkLedger(rt)
		})
	})
}

func newModel(t *testing.T, rt *rapid.T, w *world) *model {
	m := &model{
		w: w, ctx: t.Context(), orders: make(map[string]*modelOrder), staff: []*service.NewStaff{w.Mika, w.Ren, w.Admin},
	}
	m.credits = m.balance(rt)
	change := modelInitialGrant - m.credits
	if change != 0 {
		_, err := w.Service.GrantCredits(m.ctx, access.System,
			access.Tenant{AccountID: w.Customer.Account.ID, Environment: access.Live}, change, "for the model")
		m.must(rt, err)
	}
	m.credits = modelInitialGrant
	counts, err := w.Service.OrderCounts(m.ctx, access.Live)
	m.must(rt, err)
	m.others = counts
	return m
}

// pick draws an order and a staff user; there is none of the first in an empty model.
func (m *model) pick(rt *rapid.T) (id string, o *modelOrder, who *access.Staff) {
	if len(m.orders) == 0 {
		rt.Skip("no orders")
	}
	id = rapid.SampledFrom(slices.Sorted(maps.Keys(m.orders))).Draw(rt, "order")
	return id, m.orders[id], m.anyone(rt)
}

func (m *model) anyone(rt *rapid.T) *access.Staff {
	return &rapid.SampledFrom(m.staff).Draw(rt, "staff").Staff
}

func (m *model) create(rt *rapid.T) {
	minutes := rapid.SampledFrom([]int{60, 720, 1440}).Draw(rt, "answer time")
	price := map[int]int64{60: 12, 720: 7, 1440: 5}[minutes]
	id, err := m.w.createLive(m.ctx, &m.w.Customer, minutes)
	if price > m.credits {
		m.want(rt, err, "not-enough-credits")
		return
	}
	m.must(rt, err)
	m.credits -= price
	m.orders[id] = &modelOrder{status: order.Queued, due: m.w.Clock.Now().Add(time.Duration(minutes) * time.Minute)}
}

func (m *model) next(rt *rapid.T) {
	who := m.anyone(rt)
	var first string
	for id, o := range m.orders {
		if o.status != order.Queued {
			continue
		}
		if first == "" || cmp.Or(o.due.Compare(m.orders[first].due), cmp.Compare(id, first)) < 0 {
			first = id
		}
	}
	got, err := m.w.Service.TakeNextOrder(m.ctx, who.Actor(access.Origin{}), order.QueueFilter{})
	m.must(rt, err)
	switch {
	case first == "" && got == nil:
	case first == "" || got == nil || got.ID != first:
		rt.Fatalf("next is %v, want %q", got, first)
	default:
		m.orders[first].claim(who, m.w.Clock.Now())
	}
}

func (o *modelOrder) claim(who *access.Staff, now time.Time) {
	o.status, o.assignee, o.since = order.Processing, who.ID, now
}

func (o *modelOrder) touch(now time.Time) {
	if now.Sub(o.since) >= modelActivityGap {
		o.since = now
	}
}

// refusal is what a move that needs the order in processing, and its assignee or an administrator, is refused with.
func (o *modelOrder) refusal(who *access.Staff) string {
	switch {
	case o.status != order.Processing:
		return codeInvalid
	case o.assignee != who.ID && who.Role != access.Admin:
		return codeClaimed
	}
	return ""
}

func (m *model) look(rt *rapid.T) {
	id, o, who := m.pick(rt)
	_, err := m.w.Service.OrderForReview(m.ctx, who.Actor(access.Origin{}), id)
	m.must(rt, err)
	if o.status == order.Processing && o.assignee == who.ID {
		o.touch(m.w.Clock.Now())
	}
}

func (m *model) claim(rt *rapid.T) {
	id, o, who := m.pick(rt)
	_, err := m.w.Service.ClaimOrder(m.ctx, who.Actor(access.Origin{}), id)
	switch {
	case o.status == order.Queued:
		m.want(rt, err, "")
		o.claim(who, m.w.Clock.Now())
	case o.status == order.Processing && o.assignee == who.ID:
		m.want(rt, err, "")
		o.touch(m.w.Clock.Now())
	case o.status == order.Processing:
		m.want(rt, err, codeClaimed)
	default:
		m.want(rt, err, codeInvalid)
	}
}

func (m *model) release(rt *rapid.T) {
	id, o, who := m.pick(rt)
	_, err := m.w.Service.ReleaseOrder(m.ctx, who.Actor(access.Origin{}), id)
	if m.want(rt, err, o.refusal(who)) {
		o.status, o.assignee = order.Queued, ""
	}
}

func (m *model) requestPhotos(rt *rapid.T) {
	id, o, who := m.pick(rt)
	_, err := m.w.Service.RequestPhotos(m.ctx, who.Actor(access.Origin{}), id,
		[]order.RequestDraft{{IndexCode: "serial-number"}})
	if m.want(rt, err, o.refusal(who)) {
		now := m.w.Clock.Now()
		o.status, o.assignee, o.left, o.since = order.UpdatePhotos, who.ID, o.due.Sub(now), now
	}
}

func (m *model) submit(rt *rapid.T) {
	id, o, _ := m.pick(rt)
	url := m.w.photo()
	_, err := m.w.Service.SubmitPhotos(m.ctx, m.w.Customer.Live.Actor(access.Origin{}), id, &order.Submission{
		Entries: []order.SubmissionEntry{provided("serial-number", url)},
	})
	if o.status != order.UpdatePhotos {
		m.want(rt, err, codeNotWaiting)
		return
	}
	m.want(rt, err, "")
	now := m.w.Clock.Now()
	o.status, o.due, o.since = order.Processing, now.Add(o.left), now
}

func (m *model) complete(rt *rapid.T) {
	id, o, who := m.pick(rt)
	v := &order.Verdict{Outcome: rapid.SampledFrom(order.Verdicts).Draw(rt, "outcome")}
	if v.Outcome == order.Fake {
		v.ReasonCodes, v.IndexCodes = []string{"logo-misaligned"}, []string{"serial-number"}
	}
	_, err := m.w.Service.CompleteOrder(m.ctx, who.Actor(access.Origin{}), id, v, "")
	if m.want(rt, err, o.refusal(who)) {
		o.status, o.assignee = order.Completed, who.ID
	}
}

func (m *model) fail(rt *rapid.T) {
	id, o, who := m.pick(rt)
	d, err := m.w.Service.FailOrder(m.ctx, who.Actor(access.Origin{}), id, "")
	if m.want(rt, err, o.refusal(who)) {
		o.status, o.refunded = order.Failed, true
		m.credits += d.Price
	}
}

func (m *model) cancel(rt *rapid.T) {
	id, o, who := m.pick(rt)
	d, err := m.w.Service.CancelOrder(m.ctx, who.Actor(access.Origin{}), id, "")
	refusal := ""
	switch {
	case who.Role != access.Admin:
		refusal = codeForbidden
	case o.status.Terminal():
		refusal = codeInvalid
	}
	if m.want(rt, err, refusal) {
		o.status, o.refunded = order.Completed, true
		m.credits += d.Price
	}
}

func (m *model) expireClaims(rt *rapid.T) {
	since := m.w.Clock.Now().Add(-claimExpiry)
	want := 0
	for _, o := range m.orders {
		if o.status == order.Processing && !o.since.After(since) {
			o.status, o.assignee = order.Queued, ""
			want++
		}
	}
	if got, err := m.w.Service.ExpireClaims(m.ctx, since, 1000); err != nil || got != want {
		rt.Fatalf("%d claims expired, %v, want %d", got, err, want)
	}
}

func (m *model) expireRequests(rt *rapid.T) {
	since := m.w.Clock.Now().Add(-photoExpiry)
	want := 0
	for _, o := range m.orders {
		if o.status == order.UpdatePhotos && !o.since.After(since) {
			o.status = order.Completed
			want++
		}
	}
	if got, err := m.w.Service.ExpirePhotoRequests(m.ctx, since, 1000); err != nil || got != want {
		rt.Fatalf("%d photo requests expired, %v, want %d", got, err, want)
	}
}

func (m *model) wait(rt *rapid.T) {
	m.w.Clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, claimExpiry, photoExpiry}).
		Draw(rt, "time"))
}

// check compares the stored orders, the counters and the balance with the model.
func (m *model) check(rt *rapid.T) {
	want := maps.Clone(m.others)
	for id, o := range m.orders {
		want[o.status]++
		got, err := m.w.Store.Order(m.ctx, id)
		m.must(rt, err)
		if got.Status != o.status || got.AssigneeID != o.assignee {
			rt.Fatalf("order %s is in %s with %q, want %s with %q", id, got.Status, got.AssigneeID, o.status, o.assignee)
		}
		switch {
		case o.status == order.UpdatePhotos:
			if got.DueAt != nil || *got.TimeLeft != o.left {
				rt.Fatalf("order %s has due %v and %v left, want a clock that stands still at %s", id, got.DueAt, got.TimeLeft,
					o.left)
			}
		case !o.status.Terminal() && (got.DueAt == nil || !got.DueAt.Equal(o.due)):
			rt.Fatalf("order %s is due %v, want %s", id, got.DueAt, o.due)
		}
	}
	counts, err := m.w.Service.OrderCounts(m.ctx, access.Live)
	m.must(rt, err)
	for _, s := range order.Statuses {
		if counts[s] != want[s] {
			rt.Fatalf("%d orders counted in %s, want %d", counts[s], s, want[s])
		}
	}
	if got := m.balance(rt); got != m.credits {
		rt.Fatalf("balance %d, want %d", got, m.credits)
	}
}

// checkLedger proves the customer's ledger: a dense sequence whose sum is the balance, and at most one refund of a
// charge, namely of the orders that the model says.
func (m *model) checkLedger(rt *rapid.T) {
	var sum int64
	seq := int64(0)
	refunds := make(map[string]int)
	for page := 1; ; page++ {
		entries, total, err := m.w.Store.LedgerPage(m.ctx, m.w.Customer.Account.Tenant(access.Live), page, 500)
		m.must(rt, err)
		if page == 1 {
			seq = total.Entries
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			if e.Seq != seq {
				rt.Fatalf("ledger entry %d follows %d", e.Seq, seq+1)
			}
			seq--
			sum += e.Amount
			if e.Kind == credit.Refund {
				refunds[e.OrderID]++
			}
		}
	}
	if seq != 0 || sum != m.credits {
		rt.Fatalf("the ledger ends at %d with the sum %d, want 0 and %d", seq, sum, m.credits)
	}
	for id, o := range m.orders {
		if (refunds[id] == 1) != o.refunded || refunds[id] > 1 {
			rt.Fatalf("order %s was refunded %d times, want it refunded: %t", id, refunds[id], o.refunded)
		}
	}
}

// cancelAll leaves no open order to the next run.
func (m *model) cancelAll(rt *rapid.T) {
	for id := range m.orders {
		if _, err := m.w.Service.CancelOrder(m.ctx, m.w.Admin.Staff.Actor(access.Origin{}), id, ""); err != nil &&
			fault.CodeOf(err) != codeInvalid {
			rt.Errorf("cancel %s: %v", id, err)
		}
	}
}

func (m *model) balance(rt *rapid.T) int64 {
	credits, err := m.w.Store.Balance(m.ctx, m.w.Customer.Account.Tenant(access.Live))
	m.must(rt, err)
	return credits
}

func (m *model) must(rt *rapid.T, err error) {
	rt.Helper()
	if err != nil {
		rt.Fatal(err)
	}
}

// want checks that a move was accepted, for an empty code, or refused with the code, and returns whether it was
// accepted.
func (m *model) want(rt *rapid.T, err error, code string) bool {
	rt.Helper()
	if (err == nil) != (code == "") || fault.CodeOf(err) != code {
		rt.Fatalf("got %v, want %q", err, code)
	}
	return err == nil
}
