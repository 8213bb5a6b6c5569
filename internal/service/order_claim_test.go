package service_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestTakeNextOrder_Broken checks that a database that lacks a row is an error, not an empty queue.
func TestTakeNextOrder_Broken(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop.Shop, who, _ *access.Staff) {
		reviewer := who.Actor(access.Origin{})
		if o, err := s.Service.TakeNextOrder(t.Context(), reviewer, order.QueueFilter{}); err != nil || o != nil {
			t.Fatalf("the empty queue gives %v, %v", o, err)
		}
		id := s.Order(t, s.Live, "")
		rawsql.Exec(t, s.Target, "DELETE FROM live_order_counts WHERE status = 'processing'")
		if o, err := s.Service.TakeNextOrder(t.Context(), reviewer, order.QueueFilter{}); err == nil {
			t.Errorf("without a counter the next order is %v", o)
		}
		if o, err := s.Store.Order(t.Context(), id); err != nil || o.Status != order.Queued {
			t.Errorf("the order is %+v, %v", o, err)
		}
	})
}
