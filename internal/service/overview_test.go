package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// about reports whether a quantile of a histogram is a duration, as far as its buckets allow.
func wantAbout(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if (got - want).Abs() > want/16 {
		t.Errorf("%s: %v, want about %v", what, got, want)
	}
}

// TestOverviewResults counts how orders end on the day on which they do, and how long they took.
func TestOverviewResults(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		reviewer, err := s.Service.CreateStaff(t.Context(), access.Operator, "aoi@assay.example", "Aoi", access.Reviewer)
		must.NoError(t, err)
		judge := func(took time.Duration, outcome order.Outcome) {
			t.Helper()
			id := s.Order(t, s.Live, "")
			_, err := s.Service.ClaimOrder(t.Context(), reviewer.Staff.Actor(access.Origin{}), id)
			must.NoError(t, err)
			s.Clock.Advance(took)
			_, err = s.Service.CompleteOrder(t.Context(), reviewer.Staff.Actor(access.Origin{}), id,
				&order.Verdict{Outcome: outcome}, "")
			must.NoError(t, err)
		}
		for range 18 {
			judge(10*time.Minute, order.Authentic)
		}
		s.Clock.Advance(24 * time.Hour)
		judge(time.Hour, order.UnableToVerify)
		judge(3*time.Hour, order.Authentic)
		_, err = s.Service.CancelOrder(t.Context(), owner.Actor(access.Live, access.Origin{}), s.Order(t, s.Live, ""), "")
		must.NoError(t, err)
		failed := s.Order(t, s.Live, "")
		_, err = s.Service.ClaimOrder(t.Context(), reviewer.Staff.Actor(access.Origin{}), failed)
		must.NoError(t, err)
		_, err = s.Service.FailOrder(t.Context(), reviewer.Staff.Actor(access.Origin{}), failed, "cannot be read")
		must.NoError(t, err)
		s.Order(t, s.Live, "") // open

		o, err := s.Service.Overview(t.Context(), owner.Actor(access.Live, access.Origin{}))
		must.NoError(t, err)
		before, today := o.Days[len(o.Days)-2], o.Days[len(o.Days)-1]
		expect.Equal(t, "ended yesterday", before.Ended(), 18)
		expect.Equal(t, "authentic yesterday", before.Results["authentic"], 18)
		expect.Equal(t, "created yesterday", before.Orders, 18)
		expect.Equal(t, "ended today", today.Ended(), 4)
		for _, result := range []string{"authentic", "unable-to-verify", "canceled", "error"} {
			expect.Equal(t, result+" today", today.Results[result], 1)
		}
		expect.Equal(t, "created today", today.Orders, 5)
		expect.Equal(t, "ended in total", o.Total.Ended(), 22)
		expect.Equal(t, "created in total", o.Total.Orders, 23)
		wantAbout(t, "median yesterday", before.Turnaround.Median, 10*time.Minute)
		wantAbout(t, "median today", today.Turnaround.Median, time.Hour)
		wantAbout(t, "95% today", today.Turnaround.P95, 3*time.Hour)
		wantAbout(t, "median in total", o.Total.Turnaround.Median, 10*time.Minute)
		wantAbout(t, "95% in total", o.Total.Turnaround.P95, time.Hour)
		judge(2*time.Hour, order.Authentic) // the days before are known by now, today goes on
		o, err = s.Service.Overview(t.Context(), owner.Actor(access.Live, access.Origin{}))
		must.NoError(t, err)
		before, today = o.Days[len(o.Days)-2], o.Days[len(o.Days)-1]
		expect.Equal(t, "still authentic yesterday", before.Results["authentic"], 18)
		expect.Equal(t, "authentic today, later", today.Results["authentic"], 2)
		expect.Equal(t, "created today, later", today.Orders, 6)
		expect.Equal(t, "created in total, later", o.Total.Orders, 24)
		expect.Equal(t, "authentic in total, later", o.Total.Results["authentic"], 20)
		test, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, access.Origin{}))
		must.NoError(t, err)
		if test.Total.Ended() != 0 {
			t.Errorf("the Test environment has %+v", test.Total)
		}
		s.Clock.Advance(29 * 24 * time.Hour)
		s.Order(t, s.Live, "")
		o, err = s.Service.Overview(t.Context(), owner.Actor(access.Live, access.Origin{}))
		must.NoError(t, err)
		if len(o.Days) != 30 {
			t.Fatalf("%d days, want 30", len(o.Days))
		}
		expect.Equal(t, "created on the first day", o.Days[0].Orders, 6)
		expect.Equal(t, "created on the last day", o.Days[29].Orders, 1)
		expect.Equal(t, "ended in 30 days", o.Total.Ended(), 5)
		expect.Equal(t, "created in 30 days", o.Total.Orders, 7)
	})
}

// TestOverviewWaitingIsNotCounted checks that the time in which an order waits for the customer's photos is not ours.
func TestOverviewWaitingIsNotCounted(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		id := s.Order(t, s.Test, order.MockUpdatePhotos)
		s.Clock.Advance(5 * time.Hour)
		must.NoError(t, second(s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), id,
			order.SandboxState(order.Processing), nil)))
		s.Clock.Advance(20 * time.Minute)
		must.NoError(t, second(s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), id,
			order.SandboxState(order.Fake), nil)))
		o, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, access.Origin{}))
		must.NoError(t, err)
		expect.Equal(t, "fake", o.Total.Results["fake"], 1)
		wantAbout(t, "median", o.Total.Turnaround.Median, 20*time.Minute)
		// What is rehearsed again counts again.
		must.NoError(t, second(s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), id,
			order.SandboxState(order.Queued), nil)))
		must.NoError(t, second(s.Service.SimulateState(t.Context(), owner.Actor(access.Test, access.Origin{}), id,
			order.SandboxState(order.Authentic), nil)))
		must.NoError(t, s.Service.SimulateDelay(t.Context(), owner.Actor(access.Test, access.Origin{}), id, true))
		o, err = s.Service.Overview(t.Context(), owner.Actor(access.Test, access.Origin{}))
		must.NoError(t, err)
		if o.Total.Results["fake"] != 1 || o.Total.Results["authentic"] != 1 || o.Total.Ended() != 2 {
			t.Errorf("%+v", o.Total)
		}
	})
}

// TestWebhookHealth tells how deliveries go, from attempts as a sender records them.
func TestWebhookHealth(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		s.Clock.Set(time.Now().UTC().Truncate(time.Microsecond)) // ids of deliveries are of this time
		health := func() *service.WebhookHealth {
			t.Helper()
			o, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, access.Origin{}))
			must.NoError(t, err)
			return o.Webhooks
		}
		if h := health(); h.Endpoints != 0 || h.Pending != 0 || !h.Oldest.IsZero() {
			t.Errorf("without endpoints %+v", h)
		}
		good, bad := endpoint(t, s, s.Test, "good", webhook.Events...), endpoint(t, s, s.Test, "bad", webhook.Events...)
		endpoint(t, s, s.Live, "live", webhook.Events...)
		const sender = "01980000-0000-7000-8000-000000000001"
		must.NoError(t, s.Store.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.LeaseQueues(sender, slices.Sorted(slices.Values([]string{good.ID, bad.ID})), s.Clock.Now(),
				s.Clock.Now().Add(1000*time.Hour))
			return err
		}))
		// attempt makes the next attempt on what is due to an endpoint.
		attempt := func(e *webhook.Endpoint, status int, next time.Duration) {
			t.Helper()
			due, err := s.Store.DueDeliveries(t.Context(), e.ID, store.Place{}, s.Clock.Now(), 100)
			must.NoError(t, err)
			var results []store.AttemptResult
			for _, d := range due {
				r := store.AttemptResult{Attempt: webhook.Attempt{
					DeliveryID: d.ID, Number: d.Attempts + 1, At: s.Clock.Now(),
					HTTPStatus: status,
				}, EndpointID: e.ID, DueAt: d.DueAt}
				if next > 0 {
					at := s.Clock.Now().Add(next)
					r.Next = &at
				}
				results = append(results, r)
			}
			must.NoError(t, s.Store.RecordAttempts(t.Context(), sender, results))
			must.NoError(t, s.Store.RecordAttempts(t.Context(), sender, results)) // what is recorded twice counts once
		}
		for range 3 {
			s.Order(t, s.Test, order.MockAuthentic)
		}
		first := s.Clock.Now()
		if h := health(); h.Endpoints != 2 || h.Pending != 6 || !h.Oldest.Equal(first) || h.Failing != nil {
			t.Errorf("before any attempt %+v", h)
		}
		attempt(good, 200, 0)
		attempt(bad, 500, time.Minute)
		h := health()
		expect.Equal(t, "attempts of the day", h.Day, webhook.AttemptCount{Acknowledged: 3, Failed: 3})
		expect.Equal(t, "attempts of the week", h.Week, h.Day)
		expect.Equal(t, "pending", h.Pending, 3)
		expect.Equal(t, "failed", h.Failed, 0)
		if len(h.Failing) != 1 || h.Failing[0].ID != bad.ID {
			t.Errorf("failing %+v, want %s", h.Failing, bad.ID)
		}
		s.Clock.Advance(time.Minute)
		attempt(bad, 503, 0)
		if h := health(); h.Day.Failed != 6 || h.Pending != 0 || h.Failed != 3 || len(h.Failing) != 1 {
			t.Errorf("after giving up %+v", h)
		}
		s.Clock.Advance(time.Hour)
		s.Order(t, s.Test, order.MockAuthentic)
		attempt(bad, 204, 0)
		if h := health(); h.Day != (webhook.AttemptCount{Acknowledged: 4, Failed: 6}) || h.Failing != nil {
			t.Errorf("after an acknowledgement %+v", h)
		}
		s.Clock.Advance(24 * time.Hour)
		if h := health(); h.Day != (webhook.AttemptCount{}) || h.Week.Acknowledged != 4 || h.Pending != 1 {
			t.Errorf("a day later %+v", h)
		}
		s.Clock.Advance(9 * 24 * time.Hour)
		_, err := s.Service.SaveStatistics(t.Context())
		must.NoError(t, err)
		if left := rawsql.Rows(t, s.Target, "SELECT COUNT(*) FROM endpoint_hours"); left[0][0] != "0" {
			t.Errorf("%s counts are kept", left[0][0])
		}
	})
}
