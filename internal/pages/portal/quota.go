package portal

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/ratelimit"
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
