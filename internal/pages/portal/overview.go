package portal

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type overviewView struct {
	place
	*service.Overview
	Charts      []*ui.Chart
	SuccessDay  string
	SuccessWeek string
	HasKey      bool
	Limits      []quotaView // those nearest their ends
	LimitsKnown bool
	Start       bool // nothing has happened yet: the first steps are shown
	NewHere     bool // the member is new in an account that is not
	Low         bool // the Live balance is below what the owners have set
	Most        int  // counts end there
}

// overviewLimits is how many limits the overview shows.
const overviewLimits = 5

func (p *Portal) showOverview(w http.ResponseWriter, r *http.Request, who *visitor) error {
	o, err := p.Service.Overview(r.Context(), who.actor())
	if err != nil {
		return err
	}
	v := overviewView{
		place: p.place(r, who, ""), Overview: o, Most: service.OverviewMost,
		SuccessDay: successRate(o.Webhooks.Day), SuccessWeek: successRate(o.Webhooks.Week),
	}
	usable, err := p.usableKeys(r, who)
	if err != nil {
		return err
	}
	v.HasKey = len(usable) > 0
	quotas := p.quotas(r, usable...)
	v.Limits, v.LimitsKnown = nearest(quotas, overviewLimits), quotas != nil
	v.Low = who.env == access.Live && o.Totals.Entries > 0 && o.Totals.Credits < o.Totals.LowCredits
	v.Start = o.Totals.Orders == 0 || !v.HasKey
	v.NewHere = !v.Start && v.Can && p.Site.Now().Sub(who.User.CreatedAt) < newMember
	if o.Totals.Orders > 0 {
		d := &drawing{ui.DayCharts[service.OverviewDay]{
			Site: p.Site, R: r, Area: "portal", Days: o.Days, Date: func(d *service.OverviewDay) time.Time { return d.Day },
		}}
		v.Charts = []*ui.Chart{d.orders(), d.results(), d.turnaround()}
	}
	return p.pages.Render(w, r, ui.Page{Template: "overview", Data: v})
}

// successRate is the share of attempts that were acknowledged. All of them is said only when it is all.
func successRate(c webhook.AttemptCount) string {
	all := c.Acknowledged + c.Failed
	if all == 0 {
		return "–"
	}
	return strconv.FormatFloat(math.Floor(float64(c.Acknowledged)*1000/float64(all))/10, 'f', -1, 64) + " %"
}

// drawing makes the charts of the last days.
type drawing struct {
	ui.DayCharts[service.OverviewDay]
}

func (d *drawing) orders() *ui.Chart {
	c := d.Chart(ui.Bars, "orders")
	d.Series(c, "", func(x *service.OverviewDay) float64 { return float64(x.Orders) })
	return c
}

func (d *drawing) results() *ui.Chart {
	c := d.Chart(ui.Bars, "results")
	d.Results(c, func(x *service.OverviewDay, result string) int64 { return x.Results[result] })
	const usual = 3 // verdicts; what is called off or fails is shown where it happened
	for len(c.Series) > usual && slices.Max(c.Series[len(c.Series)-1].Values) == 0 {
		c.Series = c.Series[:len(c.Series)-1]
	}
	return c
}

// scales are the units of turnarounds: the first that is long enough for the longest.
var scales = []struct {
	name string
	unit time.Duration
	most time.Duration
}{
	{"seconds", time.Second, 3 * time.Minute},
	{"minutes", time.Minute, 3 * time.Hour},
	{"hours", time.Hour, math.MaxInt64},
}

func (d *drawing) turnaround() *ui.Chart {
	var longest time.Duration
	for _, day := range d.Days {
		longest = max(longest, day.Turnaround.P95)
	}
	scale := scales[0]
	for i := 1; i < len(scales) && longest > scale.most; i++ {
		scale = scales[i]
	}
	unit := d.T("portal.chart." + scale.name)
	c := d.Chart(ui.Lines, "turnaround", "unit", unit)
	c.Unit = unit
	values := func(of func(*service.Turnaround) time.Duration) func(*service.OverviewDay) float64 {
		return func(x *service.OverviewDay) float64 {
			if took := of(&x.Turnaround); took > 0 {
				return float64(took) / float64(scale.unit)
			}
			return math.NaN()
		}
	}
	d.Series(c, d.T("portal.chart.median"), values(func(t *service.Turnaround) time.Duration { return t.Median }))
	d.Series(c, d.T("portal.chart.p95"), values(func(t *service.Turnaround) time.Duration { return t.P95 }))
	return c
}

// newMember is for how long the overview points a member to the first steps.
const newMember = 14 * 24 * time.Hour

// startView is the first steps of a member in the Test environment, however much the account has done before.
type startView struct {
	place
	Key       *access.Key // a Test key of the member's own; nil: none yet
	Used      bool        // the key
	Ordered   bool        // the account has a Test order
	Endpoints int         // of the key
	Me        string      // curl that tells what a key is
	Listen    string
}

func (p *Portal) showStart(w http.ResponseWriter, r *http.Request, who *visitor) error {
	who = who.in(access.Test)
	v := startView{
		place: p.place(r, who, ""), Me: p.curl("/me"),
		Listen: "assay login --server " + p.Service.Address() + "\n" +
			"assay listen --forward-to http://localhost:3000/assay",
	}
	v.Switch = nil // it is about Test
	totals, err := p.Service.AccountTotals(r.Context(), who.actor(), who.actor().Tenant)
	if err != nil {
		return err
	}
	v.Ordered = totals.Orders > 0
	keys, err := p.usableKeys(r, who)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(keys, func(k *access.Key) bool { return k.CreatedBy == who.User.ID }); at >= 0 {
		v.Key = keys[at]
		v.Used = v.Key.LastUsedAt != nil
		endpoints, err := p.Service.EndpointsOfKey(r.Context(), who.actor(), v.Key.ID)
		if err != nil {
			return err
		}
		v.Endpoints = len(endpoints)
	}
	return p.pages.Render(w, r, ui.Page{Template: "start", Data: v})
}
