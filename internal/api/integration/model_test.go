package integration_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/testkit/integrationtest"
	"pgregory.net/rapid"
)

// ledgerModel is what an account should have after some requests, told as simply as it can be.
type ledgerModel struct {
	t        *testing.T
	account  *integrationtest.Account
	clients  map[access.Environment]*client
	balances map[access.Environment]int64
	orders   map[access.Environment]map[string]*modelOrder
	entries  map[access.Environment]int
}

type modelOrder struct {
	price    int64
	status   string
	refunded bool
}

// prices of a chanel bag by answer time.
var prices = map[int]int64{30: 20, 60: 8, 1440: 4, 0: 4}

// TestLedger_Model makes random orders, submissions, cancellations, failures and grants in both environments of an
// account and checks balance, ledger and counters against the model after each.
func TestLedger_Model(t *testing.T) {
	document := catalogWithRoom(10_000)
	integrationtest.EachWith(t, integrationtest.Options{Catalog: document}, func(t *testing.T, w *world) {
		t.Run("Random", func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				m := newLedgerModel(t, w)
				rt.Repeat(map[string]func(*rapid.T){
					"Create": m.create, "Grant": m.grant, "Submit": m.submit, "Cancel": m.cancel, "Fail": m.fail,
					"RequestPhotos": m.requestPhotos, "": m.checkBalances,
				})
				for _, env := range access.Environments {
					m.checkLedger(rt, env)
				}
			})
		})
	})
}

func newLedgerModel(t *testing.T, w *world) *ledgerModel {
	t.Helper()
	m := &ledgerModel{
		t: t, account: w.NewAccount(t), clients: make(map[access.Environment]*client),
		orders: make(map[access.Environment]map[string]*modelOrder),
		balances: map[access.Environment]int64{
			access.Live: integrationtest.LiveCredits, access.Test: access.InitialTestCredits,
		},
		entries: map[access.Environment]int{access.Live: 1, access.Test: 1},
	}
	for _, env := range access.Environments {
		m.clients[env] = m.account.Key(t, env)
		m.orders[env] = make(map[string]*modelOrder)
	}
	// Little money, so that it runs out.
	for _, env := range access.Environments {
		m.change(nil, env, 50-m.balances[env])
	}
	return m
}

func anyEnvironment(rt *rapid.T) access.Environment {
	return rapid.SampledFrom(access.Environments).Draw(rt, "environment")
}

func (m *ledgerModel) create(rt *rapid.T) {
	env := anyEnvironment(rt)
	c := m.clients[env]
	answerTime := rapid.SampledFrom([]int{0, 30, 60, 1440}).Draw(rt, "answer time")
	change := obj{}
	if answerTime != 0 {
		change["answer_time"] = answerTime
	}
	status := "queued"
	if env == access.Test {
		mock := rapid.SampledFrom([]string{"authentic", "fake", "unable-to-verify", "update-photos"}).Draw(rt, "mock outcome")
		change["mock_outcome"] = mock
		status = "completed"
		if mock == "update-photos" {
			status = mock
		}
	}
	r := c.Post(m.t, "/orders", c.Bag(m.t, change))
	price := prices[answerTime]
	if price > m.balances[env] {
		r.Refused(m.t, 402, "not-enough-credits").
			Is(m.t, "details", obj{"required_credits": price, "available_credits": m.balances[env]})
		return
	}
	r.Want(m.t, 201).Is(m.t, "status", status)
	m.balances[env] -= price
	m.entries[env]++
	m.orders[env][r.Text(m.t, "id")] = &modelOrder{price: price, status: status}
}

func (m *ledgerModel) grant(rt *rapid.T) {
	m.change(rt, anyEnvironment(rt), int64(rapid.IntRange(-60, 60).Draw(rt, "amount")))
}

func (m *ledgerModel) change(rt *rapid.T, env access.Environment, amount int64) {
	m.t.Helper()
	tenant := access.Tenant{AccountID: m.account.Account.ID, Environment: env}
	after, err := m.account.World.Service.GrantCredits(m.t.Context(), access.System, tenant, amount, "by the model")
	if amount == 0 {
		if fault.CodeOf(err) != "validation-error" {
			rt.Fatalf("a grant of 0 is %v", err)
		}
		return
	}
	if m.balances[env]+amount < 0 {
		if fault.CodeOf(err) != "not-enough-credits" {
			rt.Fatalf("a grant of %d on %d is %v", amount, m.balances[env], err)
		}
		return
	}
	m.balances[env] += amount
	m.entries[env]++
	if err != nil || after != m.balances[env] {
		m.t.Fatalf("a grant of %d leaves %d, not %d: %v", amount, after, m.balances[env], err)
	}
}

// pick draws an order of the environment; the step is skipped when there is none.
func (m *ledgerModel) pick(rt *rapid.T, env access.Environment) (string, *modelOrder) {
	if len(m.orders[env]) == 0 {
		rt.Skip("no orders")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.orders[env]))).Draw(rt, "order")
	return id, m.orders[env][id]
}

func (m *ledgerModel) submit(rt *rapid.T) {
	env := anyEnvironment(rt)
	id, o := m.pick(rt, env)
	entries := unable()
	if env == access.Test {
		entries[1] = obj{"index_code": "interior", "is_unable_to_provide": true}
	}
	r := m.clients[env].Post(m.t, "/orders/"+id+"/update_photos", obj{"photos": entries})
	if o.status != "update-photos" {
		r.Refused(m.t, 409, "order-not-awaiting-update-photos").Is(m.t, "details.status", o.status)
		return
	}
	r.Want(m.t, 202)
	o.status = "processing"
	if env == access.Test {
		o.status = "completed"
	}
}

func (m *ledgerModel) requestPhotos(rt *rapid.T) {
	id, o := m.pick(rt, access.Live)
	if o.status != "queued" && o.status != "processing" {
		rt.Skip("not open")
	}
	m.account.World.RequestPhotos(m.t, id)
	o.status = "update-photos"
}

func (m *ledgerModel) cancel(rt *rapid.T) {
	id, o := m.pick(rt, access.Live)
	if o.status == "completed" || o.status == "error" {
		rt.Skip("ended")
	}
	m.account.World.Cancel(m.t, id)
	o.status = "completed"
	m.refund(o)
}

func (m *ledgerModel) fail(rt *rapid.T) {
	id, o := m.pick(rt, access.Live)
	if o.status != "queued" {
		rt.Skip("not queued")
	}
	m.account.World.Fail(m.t, id)
	o.status = "error"
	m.refund(o)
}

func (m *ledgerModel) refund(o *modelOrder) {
	o.refunded = true
	m.balances[access.Live] += o.price
	m.entries[access.Live]++
}

func (m *ledgerModel) checkBalances(rt *rapid.T) {
	for _, env := range access.Environments {
		c := m.clients[env]
		c.Get(m.t, "/balance").Is(m.t, "availableCredits", m.balances[env])
		c.Get(m.t, "/orders?limit=1").Is(m.t, "total", len(m.orders[env]))
	}
	if m.t.Failed() {
		rt.Fatal("the account is not as the model has it")
	}
}

// checkLedger holds the entries themselves: dense, each with the balance after it, one charge for each order, one
// refund for each that was called off.
func (m *ledgerModel) checkLedger(rt *rapid.T, env access.Environment) {
	entries, total, err := m.account.World.Store.LedgerPage(m.t.Context(), m.account.Account.Tenant(env), 1, 10_000)
	if err != nil || int(total.Entries) != m.entries[env] || len(entries) != m.entries[env] {
		rt.Fatalf("%s has %d entries and counts %d, not %d: %v", env, len(entries), total.Entries, m.entries[env], err)
	}
	slices.Reverse(entries)
	var sum int64
	charged, refunded := make(map[string]int64), make(map[string]int64)
	for i, e := range entries {
		sum += e.Amount
		if e.Seq != int64(i+1) || e.BalanceAfter != sum || sum < 0 {
			rt.Fatalf("entry %d of %s is %+v after a sum of %d", i+1, env, e, sum)
		}
		switch e.Kind {
		case credit.Charge:
			charged[e.OrderID] -= e.Amount
		case credit.Refund:
			refunded[e.OrderID] += e.Amount
		default: // a grant belongs to no order
		}
	}
	if sum != m.balances[env] || len(charged) != len(m.orders[env]) {
		rt.Fatalf("%s: the entries sum up to %d, not %d; %d orders were charged, not %d", env, sum, m.balances[env],
			len(charged), len(m.orders[env]))
	}
	for id, o := range m.orders[env] {
		want := int64(0)
		if o.refunded {
			want = o.price
		}
		if charged[id] != o.price || refunded[id] != want {
			rt.Fatalf("an order for %d was charged %d and refunded %d", o.price, charged[id], refunded[id])
		}
	}
	seqs := rows(m.t, m.account.World, "SELECT seq FROM orders WHERE account_id = $1 AND environment = $2 ORDER BY seq",
		m.account.Account.ID, string(env))
	for i, seq := range seqs {
		if seq[0] != strconv.Itoa(i+1) {
			rt.Fatalf("order %d of %s has the number %s in sequence", i+1, env, seq[0])
		}
	}
}
