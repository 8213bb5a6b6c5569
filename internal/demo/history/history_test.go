package history_test

import (
	"context"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo/history"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/progress"
	"github.com/assayhq/assay/internal/proof"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// untilDay returns a context that ends on a day of the past.
func untilDay(ctx context.Context, last int64) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	return progress.With(ctx, func(string, progress.Unit, int64) func(int64) {
		var day int64
		return func(n int64) {
			if day += n; day >= last {
				cancel()
			}
		}
	})
}

// The past of a demo shows every kind of order and delivery, leaves the promised credits, and holds every check.
func TestWrite(t *testing.T) {
	t.Parallel()
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		now := s.Clock.Now()
		made := &history.Demo{Account: *s.Account, Live: s.Live, Test: s.Test}
		details, err := s.Service.AccountDetails(t.Context(), access.Operator, s.Account.ID)
		must.NoError(t, err)
		made.Owner = *details.Users[0]
		for email, role := range map[string]access.StaffRole{
			"r@demo.example": access.Reviewer, "a@demo.example": access.Admin,
		} {
			n, err := s.Service.CreateStaff(t.Context(), access.Operator, email, email, role)
			must.NoError(t, err)
			if role == access.Admin {
				made.Admin = n.Staff
			} else {
				made.Reviewer = n.Staff
			}
		}
		for _, day := range []int64{1, 35, 59} { // interrupted, and then gone on with
			if err := history.Write(untilDay(t.Context(), day), s.Config, s.Staging, now, made); err == nil {
				t.Fatalf("not interrupted on day %d", day)
			}
		}
		must.NoError(t, history.Write(t.Context(), s.Config, s.Staging, now, made))

		for env, want := range map[access.Environment]int64{access.Live: 1000, access.Test: 100_000} {
			credits, err := s.Service.Balance(t.Context(), access.Tenant{AccountID: s.Account.ID, Environment: env})
			if err != nil || credits != want {
				t.Errorf("the demo account has %d %s credits, %v; want %d", credits, env, err, want)
			}
		}
		counts, err := s.Service.OrderCounts(t.Context(), access.Live)
		must.NoError(t, err)
		if counts[order.Completed] > 300 {
			t.Errorf("%d orders are completed: some were made again", counts[order.Completed])
		}
		for status, least := range map[order.Status]int64{
			order.Queued: 5, order.Processing: 3, order.UpdatePhotos: 2, order.Completed: 100, order.Failed: 1,
		} {
			if counts[status] < least {
				t.Errorf("%d orders are %s, want at least %d", counts[status], status, least)
			}
		}
		for status, least := range map[webhook.Status]int{webhook.Delivered: 50, webhook.Failed: 3} {
			f := webhook.DeliveryFilter{Status: status}
			found, err := s.Service.Deliveries(t.Context(), access.Operator, f, 1000)
			if err != nil || len(found) < least {
				t.Errorf("%d deliveries are %s, %v; want at least %d", len(found), status, err, least)
			}
		}
		statistics, err := s.Service.Statistics(t.Context(), access.Operator, 60)
		must.NoError(t, err)
		if len(statistics.Days) != 60 || len(statistics.Reviewers) < 3 {
			t.Errorf("statistics have %d days and %d reviewers", len(statistics.Days), len(statistics.Reviewers))
		}
		var ended int64
		for _, n := range statistics.Total.Ended {
			ended += n
		}
		open := counts[order.Queued] + counts[order.Processing] + counts[order.UpdatePhotos]
		if created := statistics.Total.Created; ended < 100 || created < ended || created > ended+open+5 {
			t.Errorf("statistics count %d orders received, %d ended; %d are open", created, ended, open)
		}
		sandbox, err := s.Service.Overview(t.Context(), made.Owner.Actor(access.Test, access.Origin{}))
		must.NoError(t, err)
		if sandbox.Total.Orders < 20 || sandbox.Total.Ended() < 15 {
			t.Errorf("%d Test orders in 30 days, %d ended", sandbox.Total.Orders, sandbox.Total.Ended())
		}
		report, err := proof.Check(t.Context(), s.Proof())
		must.NoError(t, err)
		if !report.OK {
			t.Errorf("check finds %+v", report.Problems)
		}
		if start := history.Start(now); now.Sub(start) < 58*24*time.Hour {
			t.Errorf("history begins at %s", start)
		}
	})
}
