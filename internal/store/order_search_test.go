package store

import (
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// TestSearchOrders_Plans checks that every search reads one range of the index that its first condition names, for each
// state at most: a longer one would not be seen in any other test, for their tables are small.
func TestSearchOrders_Plans(t *testing.T) {
	s := openTest(t)
	now := time.Now()
	tenant := access.Tenant{AccountID: "a", Environment: access.Live}
	for name, test := range map[string]struct {
		search order.Search
		index  string
	}{
		"Created":         {order.Search{CreatedSince: &now}, "(tenant=? AND seq>? AND seq<?)"},
		"Status":          {order.Search{Status: order.Queued}, "orders_by_state"},
		"StatusCreated":   {order.Search{Status: order.Queued, CreatedSince: &now}, "orders_by_state"},
		"OutcomeByUpdate": {order.Search{Outcome: order.Fake, ByUpdate: true}, "orders_by_state"},
		"ExternalID":      {order.Search{ExternalID: "x"}, "orders_by_external_id"},
		"ExternalIDUpdated": {
			order.Search{ExternalID: "x", UpdatedSince: &now, Status: order.Queued}, "orders_by_external_id",
		},
		"ExternalByUpdate": {order.Search{ExternalID: "x", ByUpdate: true}, "orders_by_external_id"},
		"Updated":          {order.Search{UpdatedSince: &now}, "orders_by_update"},
		"UpdatedStatus":    {order.Search{UpdatedSince: &now, Status: order.Completed}, "orders_by_update"},
		"UpdatedCreated":   {order.Search{UpdatedSince: &now, CreatedSince: &now}, "orders_by_update"},
		"ByUpdate":         {order.Search{ByUpdate: true}, "orders_by_update"},
		"UpdatedByUpdate":  {order.Search{UpdatedSince: &now, ByUpdate: true, Status: order.Failed}, "orders_by_update"},
		"CreatedByUpdate":  {order.Search{CreatedSince: &now, ByUpdate: true}, "orders_by_update"},
	} {
		t.Run(name, func(t *testing.T) {
			test.search.Tenant = tenant
			l := newOrderSearch(&test.search, createdRange{1, 9, 10})
			if bySequence(&test.search) {
				l.ranges[0].where += " AND seq <= " + l.args.Add(int64(5))
			}
			counts := "SELECT COUNT(*) FROM orders WHERE " + l.ranges[0].where
			args := append([]any(nil), l.args...)
			page, pageArgs := l.query(10, 10)
			statements := map[string][]any{page: pageArgs}
			if !byUpdateOnly(&test.search) {
				statements[counts] = args
			}
			for text, args := range statements {
				whole := s.plan(t, text, args)
				if strings.Contains(whole, "SCAN orders") || !strings.Contains(whole, test.index) {
					t.Errorf("the plan does not read %s:\n%s", test.index, whole)
				}
			}
		})
	}
}
