package service_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

func TestStatistics(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		s.Clock.Set(time.Now().UTC().Truncate(24 * time.Hour)) // ids tell on which day orders were created
		o := newOffice(t, s)
		ctx := t.Context()
		begun := s.Clock.Now()
		verdict := func(after time.Duration, outcome order.Outcome) {
			t.Helper()
			id := o.Order(t, o.Live, "")
			_, err := o.Service.ClaimOrder(ctx, o.reviewer.Actor(access.Origin{}), id)
			must.NoError(t, err)
			created := o.Clock.Now()
			o.Clock.Advance(after)
			v := &order.Verdict{Outcome: outcome}
			_, err = o.Service.CompleteOrder(ctx, o.reviewer.Actor(access.Origin{}), id, v, "")
			must.NoError(t, err)
			o.Clock.Set(created)
		}
		minutes := s.Service.Catalog().Document().AnswerTimes
		standard := minutes[slices.IndexFunc(minutes, func(a catalog.AnswerTime) bool { return a.Default })].Code
		in := func(share float64) time.Duration {
			return time.Duration(share * float64(standard) * float64(time.Minute))
		}
		for range 9 {
			verdict(in(0.5), order.Authentic)
		}
		verdict(in(1.5), order.UnableToVerify)
		canceled := o.Order(t, o.Live, "")
		_, err := o.Service.CancelOrder(ctx, o.boss.Actor(access.Origin{}), canceled, "")
		must.NoError(t, err)
		o.Order(t, o.Live, "")
		o.Order(t, o.Test, order.MockAuthentic) // counts nowhere
		must.NoError(t, ignore(o.Service.SaveStatistics(ctx)))

		holds := func(t *testing.T) {
			t.Helper()
			got, err := o.Service.Statistics(ctx, by(o.boss), 30)
			must.NoError(t, err)
			if len(got.Days) != 30 || got.Total.Created != 12 {
				t.Errorf("%d days, %d created, want 30 and 12", len(got.Days), got.Total.Created)
			}
			if e := got.Total.Ended; e["authentic"] != 9 || e["unable-to-verify"] != 1 || e["canceled"] != 1 || len(e) != 3 {
				t.Errorf("ended %v", e)
			}
			figures := got.Total.Times[standard]
			if figures == nil || figures.Verdicts != 10 || figures.OnTime != 9 || math.Abs(got.Total.OnTimeRate()-0.9) > 1e-9 {
				t.Fatalf("figures of the standard time %+v", figures)
			}
			for q, want := range map[float64]time.Duration{0.5: in(0.5), 0.95: in(1.5)} {
				if d, ok := figures.Turnaround.Quantile(q); !ok || math.Abs(d.Seconds()/want.Seconds()-1) > 0.021 {
					t.Errorf("quantile %g is %s, want %s", q, d, want)
				}
			}
			if r := got.Reviewers; r[0].ID != o.reviewer.ID || r[0].Verdicts != 10 || r[1].Verdicts != 0 {
				t.Errorf("reviewers %+v", r)
			}
		}
		o.Clock.Set(begun.Add(in(1.5)))
		t.Run("Today", holds)
		o.Clock.Advance(49 * time.Hour)
		n, err := o.Service.SaveStatistics(ctx)
		must.NoError(t, err)
		if n < 2 {
			t.Errorf("%d days were kept, want at least 2", n)
		}
		if n, err := o.Service.SaveStatistics(ctx); n != 0 || err != nil {
			t.Errorf("kept again: %d, %v", n, err)
		}
		t.Run("Kept", holds)
		t.Run("Queue", func(t *testing.T) {
			got, err := o.Service.Statistics(ctx, by(o.boss), 30)
			must.NoError(t, err)
			sampled := 0
			for _, d := range got.Days {
				if d.Samples > 0 {
					sampled++
					if d.MostQueued != 1 || d.MeanQueued != 1 || d.MeanOpen != 1 {
						t.Errorf("%s: %+v", d.Date.Format(time.DateOnly), d)
					}
				}
			}
			if sampled != 2 {
				t.Errorf("%d days have samples, want 2", sampled)
			}
		})
	})
}

// TestStatistics_ClockAhead checks that figures which were saved for days to come do not stand for those days.
func TestStatistics_ClockAhead(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		s := shop.New(t, target)
		today := time.Now().UTC().Truncate(24 * time.Hour) // ids tell on which day orders were created
		s.Clock.Set(today.Add(time.Hour))
		o := newOffice(t, s)
		save := func() {
			t.Helper()
			must.NoError(t, ignore(o.Service.SaveStatistics(t.Context())))
		}
		o.Order(t, o.Live, "")
		s.Clock.Advance(5 * 24 * time.Hour)
		save()
		s.Clock.Set(today.Add(2 * time.Hour))
		canceled := o.Order(t, o.Live, "")
		wants := func(when string, ended ...int64) {
			t.Helper()
			got, err := o.Service.Statistics(t.Context(), by(o.boss), len(ended))
			must.NoError(t, err)
			for i, d := range got.Days {
				created := int64(0)
				if d.Date.Equal(today) {
					created = 2
				}
				if d.Figures.Created != created || d.Figures.Ended["canceled"] != ended[i] {
					t.Errorf("%s: %s has %+v, want %d created and %d canceled", when, d.Date.Format(time.DateOnly), d.Figures,
						created, ended[i])
				}
			}
		}
		wants("before anything is saved again", 0, 0)
		save()
		wants("today", 0, 0)
		s.Clock.Set(today.Add(25 * time.Hour))
		_, err := o.Service.CancelOrder(t.Context(), o.boss.Actor(access.Origin{}), canceled, "")
		must.NoError(t, err)
		save()
		wants("the day after", 0, 1)
		s.Clock.Set(today.Add(73 * time.Hour))
		save()
		wants("afterwards", 0, 1, 0, 0)
		o.Order(t, o.Live, "")
		s.Clock.Set(today.Add(5*24*time.Hour + time.Hour))
		save()
		got, err := o.Service.Statistics(t.Context(), by(o.boss), 1)
		must.NoError(t, err)
		if d := got.Days[0]; d.MostQueued != 2 || d.Samples != 1 {
			t.Errorf("the queue of the day to come is %+v", d)
		}
	})
}
