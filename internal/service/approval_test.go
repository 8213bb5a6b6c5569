package service_test

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
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
