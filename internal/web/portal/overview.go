package portal

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/web/ui"
)

type overviewView struct {
	place
	*service.Overview
	Orders    *ui.Chart
	Outcomes  *ui.Chart
	HasKey    bool
	Endpoints int
	Start     bool // nothing has happened yet: the first steps are shown
	Low       bool // the Live balance is below what the owners have set
}

func (p *Portal) showOverview(w http.ResponseWriter, r *http.Request, who *signed, env access.Environment) error {
	o, err := p.Service.Overview(r.Context(), who.User, env)
	if err != nil {
		return err
	}
	v := overviewView{place: p.place(r, who, env, ""), Overview: o}
	keys, err := p.Service.PortalKeys(r.Context(), who.User)
	if err != nil {
		return err
	}
	for _, k := range keys {
		v.HasKey = v.HasKey || k.Environment == env && k.UsableAt(p.Site.Now())
	}
	endpoints, err := p.Service.PortalEndpoints(r.Context(), who.User, env)
	if err != nil {
		return err
	}
	v.Endpoints = len(endpoints)
	v.Low = env == access.Live && o.Book.Entries > 0 && o.Book.Credits < o.Book.LowCredits
	v.Start = o.Book.Orders == 0 || !v.HasKey
	if o.Book.Orders > 0 {
		v.Orders = p.ordersChart(r, o)
	}
	if o.Ended > 0 {
		v.Outcomes = p.outcomesChart(r, o)
	}
	return p.pages.Render(w, r, ui.Page{Template: "overview", Data: v})
}

var dayLayouts = map[text.Locale]string{text.English: "2 Jan", text.Japanese: "1/2"}

func (p *Portal) ordersChart(r *http.Request, o *service.Overview) *ui.Chart {
	c := &ui.Chart{Kind: ui.Bars, Title: p.Site.T(r, "portal.overview.per_day"), Text: p.Site.T(r, "portal.overview.per_day_text"), Series: make([]ui.Series, 1)}
	for _, d := range o.Days {
		c.Labels = append(c.Labels, d.Day.Format(dayLayouts[ui.LocaleOf(r)]))
		c.Series[0].Values = append(c.Series[0].Values, float64(d.Orders))
	}
	return c
}

func (p *Portal) outcomesChart(r *http.Request, o *service.Overview) *ui.Chart {
	c := &ui.Chart{Kind: ui.Bars, Title: p.Site.T(r, "portal.overview.outcomes", "n", o.Ended), Text: p.Site.T(r, "portal.overview.outcomes_text"), Series: make([]ui.Series, 1)}
	for _, outcome := range order.Outcomes {
		c.Labels = append(c.Labels, outcome.Label().In(ui.LocaleOf(r)))
		c.Series[0].Values = append(c.Series[0].Values, float64(o.Results[outcome]))
	}
	return c
}
