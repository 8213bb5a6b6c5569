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
func wantAbout(t *testing.T, what string, h service.Histogram, q float64, want time.Duration) {
	t.Helper()
	if got, ok := h.Quantile(q); !ok || (got-want).Abs() > want/16 {
		t.Errorf("%s: %v, %v, want about %v", what, got, ok, want)
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
			_, err := s.Service.ClaimOrder(t.Context(), &reviewer.Staff, id)
			must.NoError(t, err)
			s.Clock.Advance(took)
			_, err = s.Service.CompleteOrder(t.Context(), &reviewer.Staff, id, &order.Verdict{Outcome: outcome}, "")
			must.NoError(t, err)
		}
		for range 18 {
			judge(10*time.Minute, order.Authentic)
		}
		s.Clock.Advance(24 * time.Hour)
		judge(time.Hour, order.UnableToVerify)
		judge(3*time.Hour, order.Authentic)
		must.NoError(t, s.Service.CancelOwnOrder(t.Context(), owner, access.Live, s.Order(t, s.Live, "")))
		failed := s.Order(t, s.Live, "")
		_, err = s.Service.ClaimOrder(t.Context(), &reviewer.Staff, failed)
		must.NoError(t, err)
		_, err = s.Service.FailOrder(t.Context(), &reviewer.Staff, failed, "cannot be read")
		must.NoError(t, err)
		s.Order(t, s.Live, "") // open

		o, err := s.Service.Overview(t.Context(), owner.Actor(access.Live, service.Origin{}))
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
		wantAbout(t, "median yesterday", before.Turnaround, 0.5, 10*time.Minute)
		wantAbout(t, "median today", today.Turnaround, 0.5, time.Hour)
		wantAbout(t, "95% today", today.Turnaround, 0.95, 3*time.Hour)
		wantAbout(t, "median in total", o.Total.Turnaround, 0.5, 10*time.Minute)
		wantAbout(t, "95% in total", o.Total.Turnaround, 0.95, time.Hour)
		test, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, service.Origin{}))
		must.NoError(t, err)
		if test.Total.Ended() != 0 {
			t.Errorf("the Test environment has %+v", test.Total)
		}
		s.Clock.Advance(29 * 24 * time.Hour)
		s.Order(t, s.Live, "")
		o, err = s.Service.Overview(t.Context(), owner.Actor(access.Live, service.Origin{}))
		must.NoError(t, err)
		if len(o.Days) != 30 {
			t.Fatalf("%d days, want 30", len(o.Days))
		}
		expect.Equal(t, "created on the first day", o.Days[0].Orders, 5)
		expect.Equal(t, "created on the last day", o.Days[29].Orders, 1)
		expect.Equal(t, "ended in 30 days", o.Total.Ended(), 4)
		expect.Equal(t, "created in 30 days", o.Total.Orders, 6)
	})
}

// TestOverviewWaitingIsNotCounted holds that the time in which an order waits for the customer's photos is not ours.
func TestOverviewWaitingIsNotCounted(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		id := s.Order(t, s.Test, order.MockUpdatePhotos)
		s.Clock.Advance(5 * time.Hour)
		must.NoError(t, s.Service.MoveTestOrder(t.Context(), owner, id, order.StageProcessing, nil))
		s.Clock.Advance(20 * time.Minute)
		must.NoError(t, s.Service.MoveTestOrder(t.Context(), owner, id, order.StageFake, nil))
		o, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, service.Origin{}))
		must.NoError(t, err)
		expect.Equal(t, "fake", o.Total.Results["fake"], 1)
		wantAbout(t, "median", o.Total.Turnaround, 0.5, 20*time.Minute)
		// What is rehearsed again counts again.
		must.NoError(t, s.Service.MoveTestOrder(t.Context(), owner, id, order.StageQueued, nil))
		must.NoError(t, s.Service.MoveTestOrder(t.Context(), owner, id, order.StageAuthentic, nil))
		must.NoError(t, s.Service.MarkTestOrderDelayed(t.Context(), owner, id, true))
		o, err = s.Service.Overview(t.Context(), owner.Actor(access.Test, service.Origin{}))
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
			o, err := s.Service.Overview(t.Context(), owner.Actor(access.Test, service.Origin{}))
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
			_, err := tx.LeaseQueues(sender, slices.Sorted(slices.Values([]string{good.ID, bad.ID})), s.Clock.Now(), s.Clock.Now().Add(1000*time.Hour))
			return err
		}))
		// attempt makes the next attempt on what is due to an endpoint.
		attempt := func(e *webhook.Endpoint, status int, next time.Duration) {
			t.Helper()
			due, err := s.Store.DueDeliveries(t.Context(), e.ID, store.Place{}, s.Clock.Now(), 100)
			must.NoError(t, err)
			var results []store.AttemptResult
			for _, d := range due {
				r := store.AttemptResult{Attempt: webhook.Attempt{DeliveryID: d.ID, Number: d.Attempts + 1, At: s.Clock.Now(), HTTPStatus: status}, EndpointID: e.ID, DueAt: d.DueAt}
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

// TestOrderFilter lists the orders of each status and outcome, page by page.
func TestOrderFilter(t *testing.T) {
	eachPortal(t, func(t *testing.T, s *shop.Shop, owner *service.Member) {
		for range 4 {
			for _, mock := range order.MockOutcomes {
				s.Order(t, s.Test, mock)
			}
		}
		queued := s.Order(t, s.Test, order.MockFake)
		must.NoError(t, s.Service.MoveTestOrder(t.Context(), owner, queued, order.StageQueued, nil))
		broken := s.Order(t, s.Test, order.MockFake)
		must.NoError(t, s.Service.MoveTestOrder(t.Context(), owner, broken, order.StageError, nil))
		s.Order(t, s.Live, "")
		var all []store.OrderRow
		must.NoError(t, s.Service.EachOrder(t.Context(), owner, access.Test, service.OrderFilter{}, func(o *store.OrderRow) error {
			all = append(all, *o)
			return nil
		}))
		if len(all) != 18 {
			t.Fatalf("%d orders", len(all))
		}
		for _, status := range append([]order.Status{""}, order.Statuses...) {
			for _, outcome := range append([]order.Outcome{""}, order.Outcomes...) {
				f := service.OrderFilter{Status: status, Outcome: outcome}
				var want, paged, exported []int64
				for _, o := range all {
					if (status == "" || o.Status == status) && (outcome == "" || o.Outcome == outcome) {
						want = append(want, o.Seq)
					}
				}
				for before := int64(0); ; {
					rows, err := s.Service.FilteredOrders(t.Context(), owner, access.Test, f, before, 3)
					must.NoError(t, err)
					if len(rows) == 0 {
						break
					}
					for _, o := range rows {
						paged = append(paged, o.Seq)
					}
					before = rows[len(rows)-1].Seq
				}
				must.NoError(t, s.Service.EachOrder(t.Context(), owner, access.Test, f, func(o *store.OrderRow) error {
					exported = append(exported, o.Seq)
					return nil
				}))
				if !slices.Equal(paged, want) || !slices.Equal(exported, want) {
					t.Errorf("%q %q: pages %v, export %v, want %v", status, outcome, paged, exported, want)
				}
			}
		}
	})
}
