package service_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
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

// TestActivity checks that whoever is at work keeps an order, however soon claims expire, and that not each look at it
// is a write.
func TestActivity(t *testing.T) {
	const expiry = 8 * time.Second
	eachShop(t, func(t *testing.T, s *shop.Shop, who, _ *access.Staff) {
		ctx := t.Context()
		s.Reconfigure(t, func(c *service.Config) { c.ClaimAge = expiry })
		expired := func() int {
			t.Helper()
			n, err := s.Service.ExpireClaims(ctx, s.Clock.Now().Add(-expiry), 10)
			must.NoError(t, err)
			return n
		}
		for name, act := range map[string]func(id string) error{
			"Looking": func(id string) error {
				_, err := s.Service.OrderForReview(ctx, by(who), id)
				return err
			},
			"ClaimingAgain": func(id string) error {
				_, err := s.Service.ClaimOrder(ctx, by(who), id)
				return err
			},
			"Typing": func(id string) error {
				_, err := s.Service.SaveVerdictDraft(ctx, by(who), id, &order.VerdictDraft{}, order.LatestDraft)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				id := s.Order(t, s.Live, "")
				_, err := s.Service.ClaimOrder(ctx, by(who), id)
				must.NoError(t, err)
				for range 10 {
					s.Clock.Advance(expiry / 4)
					must.NoError(t, act(id))
					if n := expired(); n != 0 {
						t.Fatalf("%d claims of somebody who is at work have expired", n)
					}
				}
				noted := s.Clock.Now()
				s.Clock.Advance(expiry/4 - time.Second)
				must.NoError(t, act(id))
				if o, err := s.Store.Order(ctx, id); err != nil || !o.ClaimedAt.Equal(noted) {
					t.Errorf("noted again after a second: %+v, %v", o.ClaimedAt, err)
				}
				s.Clock.Advance(expiry)
				if n := expired(); n != 1 {
					t.Errorf("%d claims have expired", n)
				}
			})
		}
	})
}
