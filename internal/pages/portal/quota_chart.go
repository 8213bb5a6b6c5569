package portal

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

const (
	useMinutes = 60 // that the chart of a key shows
	useSeries  = 5  // categories in it, besides the limit: those nearest to theirs
)

// useOfLimits draws how much of its limits a key has used in the last hour, as shares of the limits that are in force
// now, and notes the busiest minutes with the quotas. It is nil where the key was not used.
func (p *Portal) useOfLimits(r *http.Request, who *visitor, k *access.Key, quotas []quotaView) (*ui.Chart, error) {
	use, err := p.Service.RequestUse(r.Context(), actorOf(who), k, useMinutes)
	if err != nil {
		return nil, err
	}
	c := &ui.Chart{
		Kind: ui.Lines, Title: p.Site.T(r, "portal.chart.use.title"), Text: p.Site.T(r, "portal.chart.use.text"), Unit: "%",
	}
	limit := ui.Series{Name: p.Site.T(r, "portal.chart.limit")}
	for i := range use.Minutes {
		c.Labels = append(c.Labels, use.Begin.Add(time.Duration(i)*time.Minute).UTC().Format("15:04"))
		limit.Values = append(limit.Values, 100)
	}
	series := p.categorySeries(use, k, quotas)
	if len(series) == 0 {
		return nil, nil
	}
	c.Series = append([]ui.Series{limit}, series...)
	return c, nil
}

// categorySeries returns the shares of the categories that were used, those nearest to their limits first.
func (p *Portal) categorySeries(use *service.RequestUse, k *access.Key, quotas []quotaView) []ui.Series {
	var series []ui.Series
	for _, category := range ratelimit.Categories {
		limit, peak := ratelimit.LimitOf(k.Limits, category), 0
		s := ui.Series{Name: category, Values: make([]float64, len(use.Minutes))}
		for i, byRoute := range use.Minutes {
			n := 0
			for route, requests := range byRoute {
				if p.Categories[route] == category {
					n += requests
				}
			}
			peak = max(peak, n)
			s.Values[i] = float64(100*n) / float64(max(1, limit))
		}
		for i := range quotas {
			if quotas[i].Category == category {
				quotas[i].Peak = peak
			}
		}
		if peak > 0 {
			series = append(series, s)
		}
	}
	slices.SortStableFunc(series, func(a, b ui.Series) int {
		return cmp.Compare(slices.Max(b.Values), slices.Max(a.Values))
	})
	return series[:min(useSeries, len(series))]
}
