package service_test

import (
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// TestSignInDeadlocks: somebody signs in while others change their role, and while something is logged of them. All of
// that locks the person, their sessions and the log in one order.
func TestSignInDeadlocks(t *testing.T) {
	target := pgtest.Database(t)
	o := newOffice(t, shop.New(t, target))
	ctx := t.Context()
	made, err := o.Service.CreateAccount(ctx, access.Operator, "Other", "member@acme.example", "en")
	must.NoError(t, err)
	member := made.Owner
	var all errgroup.Group
	const rounds = 12 // somebody does not sign in more often
	for range 2 {
		all.Go(func() error {
			for range rounds {
				if _, _, err := o.Service.StartSession(ctx, access.Portal, member.ID, access.Origin{}); err != nil {
					return err
				}
				if _, _, err := o.Service.StartSession(ctx, access.Desk, o.boss.ID, access.Origin{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	all.Go(func() error {
		for range 2 * rounds {
			if _, err := o.Service.ResetUserFactors(ctx, access.Operator, member.AccountID, member.ID); err != nil {
				return err
			}
		}
		return nil
	})
	all.Go(func() error {
		for range 2 * rounds {
			if err := o.Store.Update(ctx, func(tx *store.Tx) error {
				return tx.AppendStaffAction(&audit.Action{
					At: o.Clock.Now(), Code: audit.StaffSignInFailed, StaffID: o.boss.ID, StaffName: o.boss.Name,
					Target: audit.ActionTarget{Type: audit.ActionTargetStaff, ID: o.boss.ID, Name: o.boss.Email},
				})
			}); err != nil {
				return err
			}
		}
		return nil
	})
	must.NoError(t, all.Wait())
	wantNoDeadlocks(t, o.Store, target)
}
