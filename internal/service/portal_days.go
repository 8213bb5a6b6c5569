package service

import (
	"context"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
)

// ordersPerDay counts the orders of each of the last days. Orders are numbered in the order of their making, so the number
// at which a day begins is found by halving, for all days at once: some twenty reads for a million orders.
func (s *Service) ordersPerDay(ctx context.Context, accountID string, env access.Environment, total int64) ([]OverviewDay, error) {
	today := s.now().Truncate(24 * time.Hour)
	days := make([]OverviewDay, overviewDays)
	low, high := make([]int64, overviewDays+1), make([]int64, overviewDays+1) // orders before the day: at least, at most
	for i := range days {
		days[i].Day = today.AddDate(0, 0, i-overviewDays+1)
		high[i] = total
	}
	low[overviewDays], high[overviewDays] = total, total // tomorrow
	for {
		var middles []int64
		for i := range low {
			if low[i] < high[i] {
				middles = append(middles, (low[i]+high[i]+1)/2)
			}
		}
		if middles == nil {
			break
		}
		slices.Sort(middles)
		times, err := s.Store.OrderTimes(ctx, accountID, env, slices.Compact(middles))
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
	for i := range days {
		days[i].Orders = low[i+1] - low[i]
	}
	return days, nil
}
