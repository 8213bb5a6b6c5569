package e2e_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
)

const (
	crashes     = 3
	shoppers    = 8
	totePrice   = 4
	ordersFirst = 40 // acknowledged orders before each crash
)

// TestCrash kills the server repeatedly while orders are created. Every acknowledged order must exist afterwards,
// and every order must be charged once.
func TestCrash(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		s := start(t, settings)
		a := s.open(t)
		acknowledged := map[string]string{} // id by external id
		for crash := range crashes {
			shopping := shop(t, s, a, fmt.Sprintf("round-%d", crash))
			shopping.await(t, ordersFirst)
			s.Kill(t)
			shopping.stop(acknowledged)
			s = s.again(t)
			checkOrders(t, s, a, acknowledged)
		}
	})
}

// TestDatabaseCrash kills PostgreSQL instead: the server must continue with it afterwards.
func TestDatabaseCrash(t *testing.T) {
	t.Parallel()
	cluster, _, s := startOnCluster(t)
	a := s.open(t)
	acknowledged := map[string]string{}
	for crash := range crashes {
		shopping := shop(t, s, a, fmt.Sprintf("round-%d", crash))
		shopping.await(t, ordersFirst)
		if err := cluster.Crash(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.Start(); err != nil {
			t.Fatal(err)
		}
		shopping.await(t, shopping.count()+ordersFirst)
		shopping.stop(acknowledged)
		checkOrders(t, s, a, acknowledged)
	}
}

// shopping is a group of clients that create orders.
type shopping struct {
	ending atomic.Bool
	crowd  sync.WaitGroup
	orders atomic.Int64

	mu           sync.Mutex
	acknowledged map[string]string
}

func shop(t *testing.T, s *site, a *account, round string) *shopping {
	t.Helper()
	c := s.client(t, a.Live)
	draft := tote(upload(t, c, 1)[0])
	running := &shopping{acknowledged: map[string]string{}}
	for shopper := range shoppers {
		running.crowd.Go(func() {
			for n := 0; !running.ending.Load(); n++ {
				one := draft
				one.ExternalID = fmt.Sprintf("%s-%d-%d", round, shopper, n)
				created, err := c.CreateOrder(t.Context(), one)
				if err != nil { // the server is down: the order may exist, but was not acknowledged
					time.Sleep(5 * time.Millisecond)
					continue
				}
				running.mu.Lock()
				running.acknowledged[one.ExternalID] = created.ID
				running.mu.Unlock()
				running.orders.Add(1)
			}
		})
	}
	return running
}

func (s *shopping) count() int64 { return s.orders.Load() }

// await waits until the number of orders was acknowledged.
func (s *shopping) await(t *testing.T, orders int64) {
	t.Helper()
	must.Eventually(t, time.Minute, fmt.Sprintf("%d orders are created", orders), func() bool {
		return s.count() >= orders
	})
}

// stop ends the clients after their last response, and adds the acknowledged orders.
func (s *shopping) stop(to map[string]string) {
	s.ending.Store(true)
	s.crowd.Wait()
	for externalID, id := range s.acknowledged {
		to[externalID] = id
	}
}

// checkOrders checks that every acknowledged order exists, that the balance matches the existing orders, and that
// `assay check` finds no problem.
func checkOrders(t *testing.T, s *site, a *account, acknowledged map[string]string) {
	t.Helper()
	c := s.client(t, a.Live)
	existing := map[string]bool{}
	for order, err := range c.AllOrders(t.Context(), client.OrdersQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if existing[order.ID] {
			t.Errorf("the list holds order %s twice", order.ID)
		}
		existing[order.ID] = true
		if id, told := acknowledged[*order.ExternalID]; told && id != order.ID {
			t.Errorf("%s is the order %s, acknowledged was %s", *order.ExternalID, order.ID, id)
		}
	}
	for externalID, id := range acknowledged {
		if !existing[id] {
			t.Errorf("the acknowledged order %s (%s) is gone", externalID, id)
		}
	}
	if got, want := balance(t.Context(), t, c), int64(liveCredits-totePrice*len(existing)); got != want {
		t.Errorf("the balance is %d, %d orders leave %d", got, len(existing), want)
	}
	proof := runCheck(t, s)
	if proof.Orders != len(existing) {
		t.Errorf("the proof covers %d orders, there are %d", proof.Orders, len(existing))
	}
	t.Logf("%d orders, %d of them acknowledged", len(existing), len(acknowledged))
}
