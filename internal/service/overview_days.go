package service

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
)

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
	took    Histogram
}

func newTally() tally { return tally{make(map[string]int64), make(Histogram)} }

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
	results, err := q.Results(ctx, t.AccountID, t.Environment, from)
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
		times, err := s.store.OrderTimes(ctx, t.AccountID, t.Environment, slices.Compact(middles))
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
