package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// TestGrantCreditsOnce_SentAgain sends a form for credits again that another administrator was asked about.
func TestGrantCreditsOnce_SentAgain(t *testing.T) {
	const asked, decided = "approval-requested", "approval-decided"
	eachOffice(t, func(t *testing.T, o *office) {
		ctx := t.Context()
		o.Reconfigure(t, func(c *service.Config) { c.Limits.FourEyes = service.FourEyes{On: true, Credits: 100} })
		other := o.hire(t, "Other", access.Admin)
		live := access.Tenant{AccountID: o.Account.ID, Environment: access.Live}
		send := func(id string, amount int64, want string) error {
			t.Helper()
			_, err := o.Service.GrantCreditsOnce(ctx, by(o.boss), live, id, amount, "gift")
			expect.Equal(t, "answer", fault.CodeOf(err), want)
			return err
		}
		change := func(want int64, f func()) {
			t.Helper()
			before, err := o.Service.Balance(ctx, live)
			must.NoError(t, err)
			f()
			after, err := o.Service.Balance(ctx, live)
			must.NoError(t, err)
			expect.Equal(t, "change of the balance", after-before, want)
		}
		ended := func(id string, want access.ApprovalStatus) {
			t.Helper()
			f, _ := send(id, 101, decided).(*fault.Error) //nolint:errorlint // as it is returned
			if f == nil || f.Details["status"] != string(want) {
				t.Errorf("the refusal is %+v, want the status %s", f, want)
			}
		}
		t.Run("Refused", func(t *testing.T) {
			id := uuid7.New()
			change(0, func() {
				_ = send(id, 101, asked)
				_ = send(id, 101, asked)
				must.NoError(t, second(o.Service.Refuse(ctx, by(other), id)))
				ended(id, access.ApprovalRefused)
			})
		})
		t.Run("Expired", func(t *testing.T) {
			id := uuid7.New()
			_ = send(id, 101, asked)
			o.Clock.Advance(access.ApprovalLife)
			ended(id, access.ApprovalExpired)
		})
		t.Run("SmallEnoughByNow", func(t *testing.T) { // what was asked for is still to be decided
			id := uuid7.New()
			change(60, func() { _ = send(uuid7.New(), 60, "") })
			change(0, func() {
				_ = send(id, 60, asked)
				o.Clock.Advance(25 * time.Hour)
				_ = send(id, 60, asked)
			})
			change(60, func() {
				must.NoError(t, second(o.Service.Approve(ctx, by(other), id)))
				_ = send(id, 60, "")
			})
		})
		t.Run("DoneWithoutApproval", func(t *testing.T) {
			id := uuid7.New()
			change(101, func() {
				_ = send(id, 101, asked)
				must.NoError(t, second(o.Service.GrantCreditsOnce(ctx, access.Operator, live, id, 101, "gift")))
				_, err := o.Service.Approve(ctx, by(other), id)
				expect.Equal(t, "the approval", fault.CodeOf(err), decided)
			})
		})
	})
}

// TestApprove_Unreadable checks that a failure to read who has asked does not say that they are gone.
func TestApprove_Unreadable(t *testing.T) {
	o := newOffice(t, shop.New(t, storetest.SQLite(t))) // whose columns take a value of any type
	o.Reconfigure(t, func(c *service.Config) { c.Limits.FourEyes = service.FourEyes{On: true, Credits: 100} })
	live := access.Tenant{AccountID: o.Account.ID, Environment: access.Live}
	id := uuid7.New()
	_, err := o.Service.GrantCreditsOnce(t.Context(), by(o.boss), live, id, 101, "gift")
	expect.Equal(t, "answer", fault.CodeOf(err), access.ApprovalRequested.Code)
	rawsql.Exec(t, o.Target, `CREATE TRIGGER unreadable AFTER UPDATE ON approvals BEGIN
		UPDATE staff SET created_at = 'x' WHERE id = NEW.requested_by; END`)
	_, err = o.Service.Approve(t.Context(), by(o.hire(t, "Other", access.Admin)), id)
	if err == nil || errors.Is(err, access.RequesterGone) {
		t.Errorf("got %v", err)
	}
}

// TestGrantCredits_Unreadable checks that an entry of the log that cannot be counted stops an administrator from
// granting alone.
func TestGrantCredits_Unreadable(t *testing.T) {
	for name, details := range map[string]map[string]any{
		"OtherType": {"environment": "live", "amount": "60"},
		"NoAmount":  {"environment": "live"},
	} {
		t.Run(name, func(t *testing.T) {
			eachOffice(t, func(t *testing.T, o *office) {
				o.Reconfigure(t, func(c *service.Config) { c.Limits.FourEyes = service.FourEyes{On: true, Credits: 100} })
				live := access.Tenant{AccountID: o.Account.ID, Environment: access.Live}
				must.NoError(t, second(o.Service.GrantCredits(t.Context(), by(o.boss), live, 40, "gift")))
				must.NoError(t, o.Store.Update(t.Context(), func(tx *store.Tx) error {
					return tx.AppendStaffAction(&audit.Action{
						At: o.Clock.Now(), Code: audit.CreditsGranted, StaffID: o.boss.ID, AccountID: o.Account.ID, Details: details,
					})
				}))
				_, err := o.Service.GrantCredits(t.Context(), by(o.boss), live, 40, "gift")
				if err == nil || fault.KindOf(err) != fault.Internal {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
