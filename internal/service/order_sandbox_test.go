package service_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
)

func TestPortalMoveTestOrder(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		id := s.Order(t, s.Test, order.MockAuthentic)
		for _, from := range order.SandboxStates {
			for _, to := range order.SandboxStates {
				for _, stage := range []order.SandboxState{from, to} {
					if _, err := s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), id, stage,
						nil); err != nil {
						t.Fatalf("%s to %s: %v", from, to, err)
					}
				}
			}
		}
		must.NoError(t, s.Service.SimulateDelay(t.Context(), owner.Actor(access.Test, access.Origin{}), id, true))
		must.NoError(t, s.Service.SetTestBalance(t.Context(), owner.Actor(access.Test, access.Origin{}), 7))
		if balance, err := s.Store.Balance(t.Context(), s.Account.ID, access.Test); err != nil || balance != 7 {
			t.Errorf("balance %d, %v", balance, err)
		}
		live := s.Order(t, s.Live, "")
		if _, err := s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), live,
			order.SandboxState(order.Failed), nil); err == nil {
			t.Error("a Live order was moved")
		}
		report, err := proof.Check(t.Context(), s.Proof())
		must.NoError(t, err)
		if !report.OK {
			t.Errorf("the books do not prove: %+v", report)
		}
	})
}
