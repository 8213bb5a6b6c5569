package service

import (
	"context"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
)

// What the overview looks at; all of it costs the same however much business an account does.
const (
	overviewDays   = 30
	overviewOrders = 8
	OverviewMost   = 1000 // counts end here
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

// OverviewDay is what happened on a day, in UTC.
type OverviewDay struct {
	Day        time.Time
	Orders     int64            // that were made
	Results    map[string]int64 // orders that ended, by outcome; those in error under "error"
	Turnaround Histogram        // of the verdicts, on the customer's clock
}

// Ended is how many orders ended on the day.
func (d *OverviewDay) Ended() int64 {
	var n int64
	for _, orders := range d.Results {
		n += orders
	}
	return n
}

// Overview returns how the actor's account is doing in the environment that the actor looks at.
func (s *Service) Overview(ctx context.Context, actor access.Actor) (*Overview, error) {
	if err := actor.Require(access.ViewAccount); err != nil {
		return nil, err
	}
	t, o, q := actor.Tenant, new(Overview), s.store.Lists(ctx)
	var err error
	if o.Totals, err = s.store.AccountTotals(ctx, t.AccountID, t.Environment); err != nil {
		return nil, err
	}
	if o.Waiting, err = s.store.CountWaiting(ctx, t, OverviewMost); err != nil {
		return nil, err
	}
	if o.Recent, _, err = q.Orders(ctx, &order.Filter{Tenant: t}, nil, overviewOrders); err != nil {
		return nil, err
	}
	if o.Days, err = s.ordersPerDay(ctx, t, o.Totals.Orders); err != nil {
		return nil, err
	}
	results, err := q.Results(ctx, t.AccountID, t.Environment, o.Days[0].Day)
	if err != nil {
		return nil, err
	}
	o.addResults(results)
	o.Webhooks, err = s.webhookHealth(ctx, t)
	return o, err
}

// addResults adds how orders ended to the days, and sums the days up.
func (o *Overview) addResults(results []store.ResultCount) {
	first := o.Days[0].Day
	days := make([]*OverviewDay, 0, len(o.Days)+1)
	for i := range o.Days {
		days = append(days, &o.Days[i])
		o.Total.Orders += o.Days[i].Orders
	}
	for _, d := range append(days, &o.Total) {
		d.Results, d.Turnaround = make(map[string]int64), make(Histogram)
	}
	for _, r := range results {
		i := int(r.Day.Sub(first) / (24 * time.Hour))
		if i >= len(days) { // the clock of another node is ahead
			continue
		}
		for _, d := range []*OverviewDay{days[i], &o.Total} {
			d.Results[r.Result] += r.Orders
			if r.Took >= 0 {
				d.Turnaround[r.Took] += r.Orders
			}
		}
	}
}

// ordersPerDay counts the orders of each of the last days.
func (s *Service) ordersPerDay(ctx context.Context, t access.Tenant, total int64) ([]OverviewDay, error) {
	now := s.now()
	today := now.Truncate(24 * time.Hour)
	days := make([]OverviewDay, overviewDays)
	for i := range days {
		days[i].Day = today.AddDate(0, 0, i-overviewDays+1)
	}
	before, err := s.ordersBefore(ctx, t, days, total, now)
	if err != nil {
		return nil, err
	}
	for i := range days {
		days[i].Orders = total - before[i]
		if i+1 < len(days) {
			days[i].Orders = before[i+1] - before[i]
		}
	}
	return days, nil
}

// beginnings names the numbers at which the days of an overview begin.
type beginnings struct {
	access.Tenant
	today time.Time
}

const (
	beginningsLife = 10 * time.Minute
	beginningsSize = 10_000
	// settled is how long after midnight all orders of the day before are surely committed.
	settled = 5 * time.Minute
)

// ordersBefore returns how many orders there were before each of the days. That does not change anymore, so it is kept
// for a while.
func (s *Service) ordersBefore(
	ctx context.Context, t access.Tenant, days []OverviewDay, total int64, now time.Time,
) ([]int64, error) {
	key := beginnings{t, days[len(days)-1].Day}
	if known, ok := s.beginnings.Get(key, now); ok {
		return known, nil
	}
	before, err := s.findOrdersBefore(ctx, t, days, total)
	if err == nil && now.Sub(key.today) >= settled {
		s.beginnings.Put(key, before, now)
	}
	return before, err
}

// findOrdersBefore finds the numbers by halving, for all days at once: orders are numbered in the order of their
// making. It takes some twenty reads for a million orders.
func (s *Service) findOrdersBefore(
	ctx context.Context, t access.Tenant, days []OverviewDay, total int64,
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
		times, err := s.store.OrderTimes(ctx, t.AccountID, t.Environment, slices.Compact(middles))
		if err != nil {
			return nil, err
		}
		for i := range days {
			if low[i] >= high[i] {
				continue
			}
			middle := (low[i] + high[i] + 1) / 2
			if at, ok := times[middle]; ok && at.Before(days[i].Day) {
				low[i] = middle
			} else {
				high[i] = middle - 1
			}
		}
	}
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
	endpoints, err := q.EndpointsOf(ctx, t.AccountID, t.Environment)
	if err != nil {
		return nil, err
	}
	h := &WebhookHealth{Endpoints: len(endpoints)}
	if h.Pending, h.Oldest, err = q.PendingDeliveries(ctx, t.AccountID, t.Environment, OverviewMost); err != nil {
		return nil, err
	}
	since := now.Add(-24 * time.Hour)
	ofTenant := webhook.DeliveryFilter{Tenant: t}
	failed, err := q.FailedDeliveries(ctx, ofTenant, since, store.FirstID(since), OverviewMost)
	if err != nil {
		return nil, err
	}
	h.Failed = len(failed)
	counts, err := q.EndpointHealth(ctx, t.AccountID, t.Environment, now)
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
