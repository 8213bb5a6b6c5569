package store

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// TestDetailPlan checks that SQLite finds an order without an index.
func TestDetailPlan(t *testing.T) {
	got := openTest(t).plan(t, shownByRowID, []any{"x", "live", "x", 1})
	if want := "SEARCH o USING INTEGER PRIMARY KEY (rowid=?)"; got != want {
		t.Errorf("the plan is %s, want %s", got, want)
	}
}

// TestDeskPlans checks that SQLite finds every list of the desk, the next order and the load of an answer time through
// an index: a scan would not be seen in any other test, for their tables are small.
func TestDeskPlans(t *testing.T) {
	s := openTest(t)
	type query struct {
		text string
		args []any
	}
	queries := map[string]query{
		"Next": {
			"SELECT id FROM orders WHERE environment = 'live' AND status = 'queued' ORDER BY " + dueKey + ", id LIMIT 1", nil,
		},
		"OpenOrders": {
			"SELECT due_at FROM orders WHERE environment = 'live' AND status IN ('queued', 'processing') " +
				"AND answer_time = $1 ORDER BY due_at LIMIT $2", []any{1, 1},
		},
		"Claims": {
			"SELECT id FROM orders WHERE assignee_id = $1 AND environment = 'live' AND status = 'processing' ORDER BY " +
				dueKey + ", id", []any{"x"},
		},
	}
	for _, status := range append([]order.Status{""}, order.Statuses...) {
		for _, assignee := range []string{"", "x"} {
			f := &order.Filter{Sort: order.DueFirst, Environment: access.Live, AssigneeID: assignee}
			if status != "" {
				f.Statuses = []order.Status{status}
			}
			text, args := newOrderList(f, nil).query(0, 50)
			queries["Page/"+string(status)+"/"+assignee] = query{text, args}
		}
	}
	for name, q := range queries {
		t.Run(name, func(t *testing.T) {
			whole := s.plan(t, q.text, q.args)
			if strings.Contains(whole, "SCAN orders") || !strings.Contains(whole, "SEARCH orders USING") {
				t.Errorf("the plan reads the whole table:\n%s", whole)
			}
			if !strings.HasPrefix(name, "Page/") && strings.Contains(whole, "TEMP B-TREE") {
				t.Errorf("the plan sorts what the index has in order:\n%s", whole)
			}
		})
	}
}
