package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/google/uuid"
)

// TestStatisticsPages checks that the orders of a day are all counted, once, where they take several statements.
func TestStatisticsPages(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		canceled := s.Order(t, s.Live, "")
		_, err := s.Service.CancelOrder(t.Context(), access.System, canceled, "")
		must.NoError(t, err)
		s.Order(t, s.Test, order.MockFake) // counts nowhere
		const copies = 2*store.StatisticsPage - 1
		must.NoError(t, rawsql.Multiply(t.Context(), target, "orders", "o.environment = 'live'", copies, map[string]string{
			"id":       "substr(o.id, 1, 30) || CAST(100000 + n AS TEXT)",
			"seq":      "o.seq + n",
			"number":   "o.number || '-' || CAST(n AS TEXT)",
			"ended_at": "o.ended_at + n / 700", // many at the same time
		}))
		o, err := s.Store.Order(t.Context(), canceled)
		must.NoError(t, err)
		made, err := uuid.Parse(canceled)
		must.NoError(t, err)
		sec, nsec := made.Time().UnixTime()
		rawsql.Exec(t, target, fmt.Sprintf("UPDATE orders SET created_at = %d", time.Unix(sec, nsec).UnixMicro()))
		seen := make(map[string]bool)
		must.NoError(t, s.Store.EachEndedOrder(t.Context(), *o.EndedAt, o.EndedAt.Add(time.Second), func(o *order.Order) {
			if seen[o.ID] {
				t.Errorf("%s is read twice", o.ID)
			}
			seen[o.ID] = true
		}))
		day := time.Unix(sec, nsec).UTC().Truncate(24 * time.Hour)
		created, err := s.Store.CountCreatedOrders(t.Context(), day, day.AddDate(0, 0, 1))
		must.NoError(t, err)
		if len(seen) != copies+1 || created != copies+1 {
			t.Errorf("%d ended and %d created, want %d", len(seen), created, copies+1)
		}
	})
}

// TestStatisticsPlans checks that the figures of a day, and the lists of orders in a state, are ranges of an index:
// they must not cost more with every order there has ever been, nor a statement more with every order of the day.
func TestStatisticsPlans(t *testing.T) {
	plans, err := storetest.Open(t, storetest.SQLite(t)).StatisticsPlans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ended":   "USING INDEX orders_ended (environment=? AND (ended_at,id)>(?,?) AND ended_at<?)",
		"created": "(id>? AND id<?)",
		"state":   "USING COVERING INDEX orders_by_state (tenant=? AND <expr>=? AND seq<?)",
	} {
		if !strings.Contains(plans[name], want) || strings.Contains(plans[name], "B-TREE") {
			t.Errorf("%s: %s; want %s", name, plans[name], want)
		}
	}
	// Groups need a table of their own, of the few orders that are in review.
	if want := "orders_desk (environment=? AND status=?)"; !strings.Contains(plans["claimed"], want) {
		t.Errorf("claimed: %s; want %s", plans["claimed"], want)
	}
}
