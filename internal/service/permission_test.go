package service_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
)

// TestOrderPermissions checks that use cases about orders refuse actors of the wrong kind themselves, whatever page or
// route calls them.
func TestOrderPermissions(t *testing.T) {
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		id := o.Order(t, o.Live, "")
		_, err := o.Service.ClaimOrder(ctx, by(o.reviewer), id)
		if err != nil {
			t.Fatal(err)
		}
		owner := access.Actor{Kind: access.ByUser, ID: "x", Role: access.Owner, Tenant: o.Live.Tenant}
		viewer := access.Actor{Kind: access.ByUser, ID: "x", Role: access.Viewer, Tenant: o.Live.Tenant}
		for name, use := range map[string]func() error{
			"SaveVerdictDraft": func() error {
				_, err := o.Service.SaveVerdictDraft(ctx, owner, id, new(order.VerdictDraft), 0)
				return err
			},
			"ColleaguesDraft": func() error { _, err := o.Service.ColleaguesDraft(ctx, owner, id); return err },
			"PreviewVerdict": func() error {
				_, err := o.Service.PreviewVerdict(ctx, owner, id, &order.Verdict{Outcome: order.Authentic}, "")
				return err
			},
			"PreviewRequest": func() error {
				_, err := o.Service.PreviewRequest(ctx, o.Live.Actor(access.Origin{}), id, nil)
				return err
			},
			"CreateOrder": func() error { _, err := o.Service.CreateOrder(ctx, viewer, new(order.Draft), nil); return err },
		} {
			if err := use(); fault.CodeOf(err) != "forbidden" {
				t.Errorf("%s: %v, want forbidden", name, err)
			}
		}
		if err := o.Service.SimulateDelay(ctx, by(o.boss), id, true); fault.CodeOf(err) != order.NotATestOrder.Code {
			t.Errorf("a Live order is marked late: %v", err)
		}
	})
}
