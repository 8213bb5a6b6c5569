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

// quotaView is how much of a key's limit in a category is used in the minute that is running.
type quotaView struct {
	Key      *access.Key
	Category string
	Used     int
	Limit    int
	Percent  int // of the limit; at most 100
	Seconds  int // until the limit is whole again; 0: it is
	Peak     int // requests in the busiest minute that is looked at
}

// Busiest is the quota as the busiest minute has used it.
func (q quotaView) Busiest() quotaView {
	q.Used, q.Percent = q.Peak, min(100, 100*q.Peak/max(1, q.Limit))
	return q
}

// Tone says how near the limit is.
func (q quotaView) Tone() string {
	switch {
	case q.Used >= q.Limit:
		return "bad"
	case q.Percent >= 80:
		return "warn"
	}
	return "good"
}

// quotas returns how much of their limits keys have used: every category of each. It is nil when the counts cannot be
// reached, which is no reason not to show a page.
func (p *Portal) quotas(r *http.Request, keys ...*access.Key) []quotaView {
	var views []quotaView
	var counted []ratelimit.Quota
	for _, k := range keys {
		for _, category := range ratelimit.Categories {
			views = append(views, quotaView{Key: k, Category: category, Limit: ratelimit.LimitOf(k.Limits, category)})
			counted = append(counted, ratelimit.Quota{Key: k.ID, Category: category})
		}
	}
	uses, err := p.Limiter.Uses(r.Context(), counted)
	if err != nil {
		p.Site.Log.WarnContext(r.Context(), "the use of limits cannot be read", "error", err)
		return nil
	}
	for i := range views {
		v := &views[i]
		v.Used = min(uses[i].Count, v.Limit) // the limit may have been lowered meanwhile
		v.Percent = 100 * v.Used / max(1, v.Limit)
		v.Seconds = int((uses[i].Left + time.Second - 1) / time.Second)
	}
	return views
}

// nearest returns the quotas that are used most, as far as they are used at all.
func nearest(quotas []quotaView, most int) []quotaView {
	used := slices.DeleteFunc(slices.Clone(quotas), func(q quotaView) bool { return q.Used == 0 })
	slices.SortStableFunc(used, func(a, b quotaView) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(b.Used, a.Used))
	})
	return used[:min(most, len(used))]
}

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
