package ui

import (
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
)

// DayCharts makes charts over days, with texts of the area: <area>.chart.<name>.title and .text.
type DayCharts[D any] struct {
	Site *Site
	R    *http.Request
	Area string
	Days []D
	Date func(*D) time.Time
}

// T returns a text in the visitor's language.
func (d *DayCharts[D]) T(key string, args ...any) string { return d.Site.T(d.R, key, args...) }

// Chart returns a chart over the days; args are those of its title.
func (d *DayCharts[D]) Chart(kind ChartKind, name string, args ...any) *Chart {
	layout := "2 Jan"
	if LocaleOf(d.R) == text.Japanese {
		layout = "1/2"
	}
	key := d.Area + ".chart." + name
	c := &Chart{Kind: kind, Title: d.T(key+".title", args...), Text: d.T(key + ".text")}
	for i := range d.Days {
		c.Labels = append(c.Labels, d.Date(&d.Days[i]).Format(layout))
	}
	return c
}

// Series adds a figure of each day.
func (d *DayCharts[D]) Series(c *Chart, name string, value func(*D) float64) {
	s := Series{Name: name, Values: make([]float64, len(d.Days))}
	for i := range d.Days {
		s.Values[i] = value(&d.Days[i])
	}
	c.Series = append(c.Series, s)
}

// Results adds how the orders of each day ended, one figure above the other, in an order that suits the colours.
func (d *DayCharts[D]) Results(c *Chart, count func(day *D, result string) int64) {
	c.Stack = true
	add := func(name, result string) {
		d.Series(c, name, func(day *D) float64 { return float64(count(day, result)) })
	}
	for _, o := range []order.Outcome{order.Authentic, order.UnableToVerify, order.Fake, order.Canceled} {
		add(o.Label().In(LocaleOf(d.R)), string(o))
	}
	add(d.T("ui.status.error"), string(order.Failed))
}
