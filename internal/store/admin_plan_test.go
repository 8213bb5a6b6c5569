package store_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/store/storetest"
)

// TestStatisticsPlans holds that the figures of a day are ranges of an index: they must not cost more with every order
// there has ever been.
func TestStatisticsPlans(t *testing.T) {
	plans, err := storetest.Open(t, storetest.SQLite(t)).StatisticsPlans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ended": "ended_at>? AND ended_at<?)", "created": "(id>? AND id<?)"} {
		if !strings.Contains(plans[name], want) {
			t.Errorf("%s: %s; want %s", name, plans[name], want)
		}
	}
}
