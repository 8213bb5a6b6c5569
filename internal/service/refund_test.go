package service_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestRefund_LargestBalance: the bound of balances does not keep an order from its end, nor a balance that is above it
// from becoming smaller.
func TestRefund_LargestBalance(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		s := shop.New(t, target)
		live := access.Tenant{AccountID: s.Account.ID, Environment: access.Live}
		grant := func(amount int64) (int64, error) {
			return s.Service.GrantCredits(ctx, access.System, live, amount, "test")
		}
		before, err := s.Service.Balance(ctx, live)
		must.NoError(t, err)
		id := s.Order(t, s.Live, "")
		charged, err := s.Service.Balance(ctx, live)
		must.NoError(t, err)
		_, err = grant(credit.MaxCredits - charged)
		must.NoError(t, err)
		_, err = s.Service.CancelOrder(ctx, access.System, id, "withdrawn")
		must.NoError(t, err)
		if _, err := grant(1); fault.CodeOf(err) != credit.CodeNotEnough {
			t.Errorf("a grant above the bound: %v, want %s", err, credit.CodeNotEnough)
		}
		balance, err := grant(-1)
		if want := credit.MaxCredits + before - charged - 1; err != nil || balance != want {
			t.Errorf("the balance is %d, %v, want %d", balance, err, want)
		}

		owner := s.Test.Actor(access.Origin{})
		id = s.Order(t, s.Test, order.MockFake)
		must.NoError(t, s.Service.SetTestBalance(ctx, owner, credit.MaxCredits))
		_, err = s.Service.SimulateState(ctx, owner, id, order.SandboxState(order.Canceled), nil)
		must.NoError(t, err)
		must.NoError(t, s.Service.SetTestBalance(ctx, owner, 100))
		holds(t, s, "after refunds above the bound")
	})
}
