package store

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// TestDeskPlans checks that SQLite finds every list of the desk, the next order and the load of an answer time through
// an index: a scan would not be seen in any other test, for their tables are small.
func TestDeskPlans(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "assay.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
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
			var plan []string
			if err := s.rows(t.Context(), "EXPLAIN QUERY PLAN "+q.text, q.args, func(scan scanner) error {
				var id, parent, unused int
				var detail string
				err := scan(&id, &parent, &unused, &detail)
				plan = append(plan, detail)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			whole := strings.Join(plan, "\n")
			if strings.Contains(whole, "SCAN orders") || !strings.Contains(whole, "SEARCH orders USING") {
				t.Errorf("the plan reads the whole table:\n%s", whole)
			}
			if !strings.HasPrefix(name, "Page/") && strings.Contains(whole, "TEMP B-TREE") {
				t.Errorf("the plan sorts what the index has in order:\n%s", whole)
			}
		})
	}
}
