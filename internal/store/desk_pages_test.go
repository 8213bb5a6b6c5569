package store_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
)

// TestBoardPlans proves that the first page of every list of the desk goes by an index, so that it costs the same however
// many orders there are.
func TestBoardPlans(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t))
	open, ended := []order.Status{order.Queued, order.Processing}, []order.Status{order.Completed, order.Failed}
	for name, test := range map[string]struct {
		filter store.BoardFilter
		index  string
	}{
		"Queue":         {store.BoardFilter{Statuses: open}, "orders_desk"},
		"Category":      {store.BoardFilter{Statuses: open, CategoryCode: "bags"}, "orders_desk"},
		"Mine":          {store.BoardFilter{Statuses: open, AssigneeID: "x"}, "orders_of_assignee"},
		"Brand":         {store.BoardFilter{Statuses: open, BrandCode: "chanel"}, "orders_open_by_brand"},
		"BrandCategory": {store.BoardFilter{Statuses: open, BrandCode: "chanel", CategoryCode: "bags"}, "orders_open_by_brand"},
		"Done":          {store.BoardFilter{Statuses: ended}, "orders_ended"},
		"DoneMine":      {store.BoardFilter{Statuses: ended, AssigneeID: "x", BrandCode: "chanel"}, "orders_ended"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := s.BoardPlan(t.Context(), test.filter)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(plan, "INDEX "+test.index+" ") || strings.Contains(plan, "SCAN orders") {
				t.Errorf("the list does not go by the index %s:\n%s", test.index, plan)
			}
		})
	}
}
