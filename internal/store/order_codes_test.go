package store_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestOldOrders holds that the filters of the desk find orders that were made before brand and category had columns.
func TestOldOrders(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		id := s.Order(t, s.Live, "")
		o, err := s.Store.Order(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		insertOrders(t, s.Store, "nothing", "") // without facts: it cannot be filled, and does no harm
		rawsql.Exec(t, target, "UPDATE orders SET category_code = '', brand_code = ''")
		find := func(on *store.Store) int {
			c := &o.Facts.Classification
			rows, _, err := on.Board(t.Context(), store.BoardFilter{Statuses: []order.Status{order.Queued}, CategoryCode: c.CategoryCode, BrandCode: c.BrandCode}, nil, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(rows)
		}
		if n := find(s.Store); n != 0 {
			t.Fatalf("%d orders are found before", n)
		}
		if n := find(storetest.Open(t, target)); n != 1 {
			t.Errorf("%d orders are found after the database was opened again, want 1", n)
		}
	})
}
