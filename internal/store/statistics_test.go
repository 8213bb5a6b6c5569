package store_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestStatisticsPlans checks that the figures of a day, and the lists of orders in a state, are ranges of an index:
// they must not cost more with every order there has ever been.
func TestStatisticsPlans(t *testing.T) {
	plans, err := storetest.Open(t, storetest.SQLite(t)).StatisticsPlans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ended": "ended_at>? AND ended_at<?)", "created": "(id>? AND id<?)",
		"state": "USING COVERING INDEX orders_by_state (tenant=? AND <expr>=? AND seq<?)",
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
