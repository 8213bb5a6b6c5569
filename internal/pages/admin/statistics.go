package admin

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/statistics"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type statisticsView struct {
	Tabs      []ui.Tab
	Days      int
	Created   int64
	Ended     int64
	OnTime    string
	Open      int64
	Queued    int64
	Any       bool // whether anything has happened at all
	Charts    []*ui.Chart
	Times     []timeSummary
	TimeLines []*ui.Chart // turnaround by day, one for each answer time
	Reviewers []service.ReviewerLoad
	Load      *ui.Chart
}

// timeSummary is an answer time over the whole period.
type timeSummary struct {
	Name        string
	Verdicts    int64
	Median, P95 time.Duration
	OnTime      string
	Late        bool // less than nine of ten on time
}

const lateShare = 0.9

func (a *Admin) showStatistics(w http.ResponseWriter, r *http.Request, who *visitor) error {
	days := 30
	if r.URL.Query().Get("days") == "90" {
		days = 90
	}
	s, err := a.Service.Statistics(r.Context(), actorOf(who), days)
	if err != nil {
		return err
	}
	v := &statisticsView{
		Days: days, Created: s.Total.Created, OnTime: percent(s.Total.OnTimeRate()), Reviewers: s.Reviewers,
	}
	for _, n := range []int{30, 90} {
		v.Tabs = append(v.Tabs, ui.Tab{
			Href: home + "/statistics?days=" + strconv.Itoa(n), Label: a.Site.T(r, "admin.statistics.days", "n", n),
			Current: n == days,
		})
	}
	for _, n := range s.Total.Ended {
		v.Ended += n
	}
	v.Queued = s.Open[order.Queued]
	v.Open = v.Queued + s.Open[order.Processing] + s.Open[order.UpdatePhotos]
	v.Any = v.Created+v.Ended+v.Open > 0
	d := &drawing{admin: a, DayCharts: ui.DayCharts[service.StatisticsDay]{
		Site: a.Site, R: r, Area: "admin", Days: s.Days, Date: func(d *service.StatisticsDay) time.Time { return d.Date },
	}}
	v.Charts = []*ui.Chart{d.orders(), d.outcomes(), d.onTime(), d.queue()}
	for _, code := range s.AnswerTimes() {
		v.Times = append(v.Times, a.summary(r, code, s.Total.Times[code]))
		v.TimeLines = append(v.TimeLines, d.turnaround(code))
	}
	v.Load = d.load(s.Reviewers)
	return a.pages.Render(w, r, ui.Page{Template: "statistics", Data: v})
}

func (a *Admin) summary(r *http.Request, code int, t *statistics.AnswerTimeFigures) timeSummary {
	s := timeSummary{
		Name: a.timeName(r, code), Verdicts: t.Verdicts, OnTime: percent(t.OnTimeRate()), Late: t.OnTimeRate() < lateShare,
	}
	s.Median, _ = t.Turnaround.Quantile(0.5)
	s.P95, _ = t.Turnaround.Quantile(0.95)
	return s
}

// timeName is what the catalog calls an answer time now, or its minutes when it is gone.
func (a *Admin) timeName(r *http.Request, code int) string {
	times := a.Service.Catalog().Document().AnswerTimes
	if i := slices.IndexFunc(times, func(t catalog.AnswerTime) bool { return t.Code == code }); i >= 0 {
		return times[i].Name.In(ui.LocaleOf(r))
	}
	return a.Site.T(r, "ui.duration.minutes", "n", code)
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "–"
	}
	return strconv.FormatFloat(math.Round(share*1000)/10, 'f', -1, 64) + " %"
}

// drawing makes the charts of a period.
type drawing struct {
	ui.DayCharts[service.StatisticsDay]
	admin *Admin
}

func (d *drawing) orders() *ui.Chart {
	c := d.Chart(ui.Bars, "orders")
	d.Series(c, d.T("admin.chart.created"), func(x *service.StatisticsDay) float64 { return float64(x.Figures.Created) })
	d.Series(c, d.T("admin.chart.ended"), func(x *service.StatisticsDay) float64 {
		var n int64
		for _, ended := range x.Figures.Ended {
			n += ended
		}
		return float64(n)
	})
	return c
}

func (d *drawing) outcomes() *ui.Chart {
	c := d.Chart(ui.Bars, "outcomes")
	d.Results(c, func(x *service.StatisticsDay, result string) int64 { return x.Figures.Ended[result] })
	return c
}

func (d *drawing) onTime() *ui.Chart {
	c := d.Chart(ui.Lines, "on_time")
	c.Unit, c.Max = "%", 100
	d.Series(
		c, d.T("admin.chart.on_time.series"),
		func(x *service.StatisticsDay) float64 { return 100 * x.Figures.OnTimeRate() },
	)
	return c
}

func (d *drawing) queue() *ui.Chart {
	c := d.Chart(ui.Lines, "queue")
	sampled := func(value func(*service.StatisticsDay) float64) func(*service.StatisticsDay) float64 {
		return func(x *service.StatisticsDay) float64 {
			if x.Samples == 0 {
				return math.NaN()
			}
			return value(x)
		}
	}
	d.Series(
		c, d.T("admin.chart.queue.most"), sampled(func(x *service.StatisticsDay) float64 { return float64(x.MostQueued) }),
	)
	d.Series(c, d.T("admin.chart.queue.mean"), sampled(func(x *service.StatisticsDay) float64 { return x.MeanQueued }))
	d.Series(c, d.T("admin.chart.queue.open"), sampled(func(x *service.StatisticsDay) float64 { return x.MeanOpen }))
	return c
}

func (d *drawing) turnaround(code int) *ui.Chart {
	c := d.Chart(ui.Lines, "turnaround")
	name := d.admin.timeName(d.R, code)
	c.Title = d.T("admin.chart.turnaround.of", "name", name)
	c.Unit = d.T("admin.chart.minutes")
	quantile := func(q float64) func(*service.StatisticsDay) float64 {
		return func(x *service.StatisticsDay) float64 {
			if t := x.Figures.Times[code]; t != nil {
				if used, ok := t.Turnaround.Quantile(q); ok {
					return used.Minutes()
				}
			}
			return math.NaN()
		}
	}
	d.Series(c, d.T("admin.statistics.median"), quantile(0.5))
	d.Series(c, d.T("admin.statistics.p95"), quantile(0.95))
	return c
}

// maxReviewers is how many reviewers a chart has room for.
const maxReviewers = 20

func (d *drawing) load(reviewers []service.ReviewerLoad) *ui.Chart {
	c := &ui.Chart{Kind: ui.Bars, Title: d.T("admin.chart.load.title"), Text: d.T("admin.chart.load.text")}
	s := ui.Series{Name: d.T("admin.statistics.verdicts")}
	for _, x := range reviewers[:min(maxReviewers, len(reviewers))] {
		name := x.Name
		if name == "" {
			name = x.ID[:min(8, len(x.ID))]
		}
		c.Labels = append(c.Labels, name)
		s.Values = append(s.Values, float64(x.Verdicts))
	}
	if len(c.Labels) == 0 {
		return nil
	}
	c.Series = []ui.Series{s}
	return c
}
