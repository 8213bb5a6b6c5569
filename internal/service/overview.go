package service

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/statistics"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
)

// What the overview looks at; all of it costs the same however much business an account does.
const (
	overviewOrders = 8
	OverviewMost   = 500 // counts end here: to count further takes longer than all the rest
)

// Overview is how an account is doing in an environment.
type Overview struct {
	Totals   credit.AccountTotals
	Waiting  int // orders that wait for photos
	Recent   []order.Summary
	Days     []OverviewDay // the oldest first, today last
	Total    OverviewDay   // of all these days
	Webhooks *WebhookHealth
}

// Overview returns how the actor's account is doing in the environment that the actor looks at.
func (s *Service) Overview(ctx context.Context, actor access.Actor) (*Overview, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	t, o, q := actor.Tenant, new(Overview), s.store.Lists(ctx)
	var err error
	if o.Totals, err = s.store.AccountTotals(ctx, t); err != nil {
		return nil, err
	}
	if o.Waiting, err = s.store.CountWaiting(ctx, t, OverviewMost); err != nil {
		return nil, err
	}
	if o.Recent, _, err = q.Orders(ctx, &order.Filter{Tenant: t}, nil, overviewOrders); err != nil {
		return nil, err
	}
	if o.Days, o.Total, err = s.overviewDays(ctx, q, t, o.Totals.Orders); err != nil {
		return nil, err
	}
	o.Webhooks, err = s.webhookHealth(ctx, t)
	return o, err
}

// WebhookHealth is how deliveries to the endpoints of an account go.
type WebhookHealth struct {
	Endpoints int
	Pending   int       // deliveries on their way, as far as OverviewMost
	Oldest    time.Time // when the oldest of them was made; zero: there is none
	Failed    int       // deliveries of the last 24 hours that have failed for good, as far as OverviewMost
	Day, Week webhook.AttemptCount
	Failing   []*webhook.Endpoint // not one acknowledgement since the hour in which they last failed, within a day
}

// webhookHealth returns how deliveries go. It reads counts by the hour, never the deliveries themselves.
func (s *Service) webhookHealth(ctx context.Context, t access.Tenant) (*WebhookHealth, error) {
	now, q := s.now(), s.store.Lists(ctx)
	endpoints, err := q.EndpointsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	h := &WebhookHealth{Endpoints: len(endpoints)}
	if h.Pending, h.Oldest, err = q.PendingDeliveries(ctx, t, OverviewMost); err != nil {
		return nil, err
	}
	since := now.Add(-24 * time.Hour)
	ofTenant := webhook.DeliveryFilter{Tenant: t}
	failed, err := q.FailedDeliveries(ctx, ofTenant, since, uuid7.First(since), OverviewMost)
	if err != nil {
		return nil, err
	}
	h.Failed = len(failed)
	counts, err := q.EndpointHealth(ctx, t, now)
	if err != nil {
		return nil, err
	}
	failing := make(map[string]bool)
	for _, c := range counts {
		h.Day.Acknowledged += c.Day.Acknowledged
		h.Day.Failed += c.Day.Failed
		h.Week.Acknowledged += c.Week.Acknowledged
		h.Week.Failed += c.Week.Failed
		failing[c.EndpointID] = c.Day.Failed > 0 && c.LastFailed.After(c.LastAcknowledged)
	}
	for _, e := range endpoints {
		if failing[e.ID] {
			h.Failing = append(h.Failing, e)
		}
	}
	return h, nil
}

// overviewDays is how many days an overview looks back, with today.
const overviewDays = 30

// OverviewDay is what happened on a day, in UTC, or on several.
type OverviewDay struct {
	Day        time.Time
	Orders     int64            // that were made
	Results    map[string]int64 // orders that ended, by outcome; those in error under "error"
	Turnaround Turnaround
}

// Turnaround is how long verdicts took on the customer's clock; zero: there were none.
type Turnaround struct{ Median, P95 time.Duration }

// Ended is how many orders ended on the day.
func (d *OverviewDay) Ended() int64 {
	var n int64
	for _, orders := range d.Results {
		n += orders
	}
	return n
}

// tally counts how orders ended.
type tally struct {
	results map[string]int64
	took    statistics.Histogram
}

func newTally() tally { return tally{make(map[string]int64), make(statistics.Histogram)} }

func (t tally) clone() tally { return tally{maps.Clone(t.results), maps.Clone(t.took)} }

func (t tally) add(r *store.ResultCount) {
	t.results[r.Result] += r.Orders
	if r.Took >= 0 {
		t.took[r.Took] += r.Orders
	}
}

func (t tally) day(day time.Time, orders int64) OverviewDay {
	d := OverviewDay{Day: day, Orders: orders, Results: t.results}
	d.Turnaround.Median, _ = t.took.Quantile(0.5)
	d.Turnaround.P95, _ = t.took.Quantile(0.95)
	return d
}

// pastDays are the days of an overview before today. They do not change any more, so they are kept for a while.
type pastDays struct {
	days   []OverviewDay
	sum    tally
	before [2]int64 // orders that were made before the first of them, and before today
}

// pastDaysKey names them.
type pastDaysKey struct {
	access.Tenant
	today time.Time
}

const (
	pastDaysLife = 10 * time.Minute
	pastDaysSize = 1000
	// settled is how long after midnight everything of the day before is surely committed.
	settled = 5 * time.Minute
)

// overviewDays returns the last days, the oldest first, and their sum; total is how many orders there are.
func (s *Service) overviewDays(ctx context.Context, q store.Queries, t access.Tenant, total int64) (
	days []OverviewDay, sum OverviewDay, err error,
) {
	now := s.now()
	today := now.Truncate(24 * time.Hour)
	from := today
	past, known := s.pastDays.Get(pastDaysKey{t, today}, now)
	if !known {
		from = today.AddDate(0, 0, 1-overviewDays)
	}
	results, err := q.Results(ctx, t, from)
	if err != nil {
		return nil, sum, err
	}
	if !known {
		if past, err = s.findPastDays(ctx, t, today, total, results); err != nil {
			return nil, sum, err
		}
		if now.Sub(today) >= settled {
			s.pastDays.Put(pastDaysKey{t, today}, past, now)
		}
	}
	all, last := past.sum.clone(), newTally()
	for i := range results {
		if r := &results[i]; r.Day.Equal(today) { // a later one is of a node whose clock is ahead
			all.add(r)
			last.add(r)
		}
	}
	return append(slices.Clone(past.days), last.day(today, total-past.before[1])),
		all.day(time.Time{}, total-past.before[0]), nil
}

// findPastDays counts what happened on the days before today.
func (s *Service) findPastDays(
	ctx context.Context, t access.Tenant, today time.Time, total int64, results []store.ResultCount,
) (*pastDays, error) {
	days, tallies := make([]time.Time, overviewDays), make([]tally, overviewDays)
	for i := range days {
		days[i], tallies[i] = today.AddDate(0, 0, i-overviewDays+1), newTally()
	}
	before, err := s.findOrdersBefore(ctx, t, days, total)
	if err != nil {
		return nil, err
	}
	past := &pastDays{sum: newTally(), before: [2]int64{before[0], before[overviewDays-1]}}
	for i := range results {
		if r := &results[i]; r.Day.Before(today) {
			tallies[r.Day.Sub(days[0])/(24*time.Hour)].add(r)
			past.sum.add(r)
		}
	}
	for i, day := range days[:overviewDays-1] {
		past.days = append(past.days, tallies[i].day(day, before[i+1]-before[i]))
	}
	return past, nil
}

// findOrdersBefore finds the numbers by halving, for all days at once: orders are numbered in the order of their
// making. It takes some twenty reads for a million orders.
func (s *Service) findOrdersBefore(
	ctx context.Context, t access.Tenant, days []time.Time, total int64,
) ([]int64, error) {
	low, high := make([]int64, len(days)), make([]int64, len(days)) // orders before the day: at least, at most
	for i := range high {
		high[i] = total
	}
	for {
		var middles []int64
		for i := range low {
			if low[i] < high[i] {
				middles = append(middles, (low[i]+high[i]+1)/2)
			}
		}
		if middles == nil {
			return low, nil
		}
		slices.Sort(middles)
		times, err := s.store.OrderTimes(ctx, t, slices.Compact(middles))
		if err != nil {
			return nil, err
		}
		for i := range days {
			if low[i] >= high[i] {
				continue
			}
			middle := (low[i] + high[i] + 1) / 2
			if at, ok := times[middle]; ok && at.Before(days[i]) {
				low[i] = middle
			} else {
				high[i] = middle - 1
			}
		}
	}
}
