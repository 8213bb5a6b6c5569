package ui

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
)

// Chart is figures drawn as SVG by the server. It can be read without seeing it: it has a title, a description, a title
// on every mark and the figures as a table.
type Chart struct {
	Kind   ChartKind
	Title  string   // said above the chart
	Text   string   // what it shows, for those who do not see it
	Labels []string // of the points along the horizontal axis
	Series []Series
	Unit   string // behind the figures; may be empty
	Stack  bool   // bars stand on each other

	// Max is the top of the vertical axis; 0: a round number above all figures.
	Max float64
}

// ChartKind is how figures are drawn.
type ChartKind string

// The kinds.
const (
	Lines ChartKind = "lines"
	Bars  ChartKind = "bars"
)

// Series is one row of figures. A figure that is not a number is a gap.
type Series struct {
	Name   string
	Values []float64
}

// Dimensions of a chart in its own units; the page scales it to the width it has.
const (
	chartWidth, chartHeight = 560.0, 230.0
	chartLeft, chartRight   = 44.0, 6.0
	chartTop, chartBottom   = 12.0, 30.0
	chartTicks              = 4
	maxLabels               = 10
	maxColours              = 6
)

// chartView is a chart as its template shows it: all shapes computed.
type chartView struct {
	*Chart
	ID            string
	Width, Height float64
	Left, Right   float64
	Grid          []chartTick
	Axis          []chartTick
	Shapes        []chartShape
	Rows          [][]string
}

type chartTick struct {
	At    string
	Label string
}

type chartShape struct {
	Class string
	Path  string // of a line or an area
	Marks []chartMark
}

type chartMark struct {
	X, Y, W, H string
	Title      string
}

func (f *functions) chart(c *Chart) (template.HTML, error) {
	if c == nil {
		return "", nil
	}
	v := &chartView{
		Chart: c, ID: chartID(c.Title), Width: chartWidth, Height: chartHeight, Left: chartLeft,
		Right: chartWidth - chartRight,
	}
	switch c.Kind {
	case Bars:
		v.axes()
		v.bars()
	case Lines:
		v.axes()
		v.lines()
	default:
		return "", fmt.Errorf("chart: unknown kind %q", c.Kind)
	}
	v.table()
	return f.component("ui-chart", v)
}

// chartID is the same for the same title, so that a page is the same each time.
func chartID(title string) string {
	var h uint32 = 2166136261
	for _, b := range []byte(title) {
		h = (h ^ uint32(b)) * 16777619
	}
	return "chart-" + strconv.FormatUint(uint64(h), 36)
}

// top is the largest figure, or the height of the tallest stack.
func (c *Chart) top() float64 {
	most := 0.0
	for i := range c.Labels {
		sum := 0.0
		for _, s := range c.Series {
			if i >= len(s.Values) || math.IsNaN(s.Values[i]) {
				continue
			}
			if c.Stack {
				sum += s.Values[i]
			} else {
				sum = max(sum, s.Values[i])
			}
		}
		most = max(most, sum)
	}
	return most
}

// roundUp returns a number of the form 1, 2, 2.5 or 5 times a power of ten, at least v / ticks, for each tick.
func roundUp(v float64, ticks int) float64 {
	if v <= 0 {
		return 1
	}
	step := v / float64(ticks)
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*power >= step-1e-9 && (m != 2.5 || power >= 10) {
			return m * power
		}
	}
	return 10 * power
}

func (v *chartView) axes() {
	step := roundUp(v.top(), chartTicks)
	if v.Max > 0 {
		step = v.Max / chartTicks
	} else {
		v.scale(step)
	}
	for i := 0; float64(i)*step <= v.Max+1e-9; i++ {
		value := float64(i) * step
		v.Grid = append(v.Grid, chartTick{At: px(v.y(value)), Label: figure(value)})
	}
	every := (len(v.Labels) + maxLabels - 1) / maxLabels
	for i, label := range v.Labels {
		if i%max(1, every) == 0 {
			v.Axis = append(v.Axis, chartTick{At: px(v.x(i)), Label: label})
		}
	}
}

// scale sets the top of the axis to a whole number of steps, on a copy: the caller's chart stays as it is.
func (v *chartView) scale(step float64) {
	c := *v.Chart
	c.Max = max(step, step*math.Ceil(c.top()/step-1e-9))
	v.Chart = &c
}

func (v *chartView) y(value float64) float64 {
	return chartHeight - chartBottom - min(1, max(0, value/v.Max))*(chartHeight-chartTop-chartBottom)
}

// x is the middle of the room for a point.
func (v *chartView) x(i int) float64 {
	return chartLeft + (float64(i)+0.5)*(chartWidth-chartLeft-chartRight)/float64(max(1, len(v.Labels)))
}

func (v *chartView) lines() {
	for n, s := range v.Series {
		shape := chartShape{Class: colour(n)}
		var b strings.Builder
		pen := "M"
		for i, value := range s.Values {
			if i >= len(v.Labels) || math.IsNaN(value) {
				pen = "M"
				continue
			}
			x, y := px(v.x(i)), px(v.y(value))
			b.WriteString(pen + x + " " + y)
			pen = "L"
			shape.Marks = append(shape.Marks, chartMark{X: x, Y: y, Title: v.markTitle(s.Name, i, value)})
		}
		shape.Path = b.String()
		v.Shapes = append(v.Shapes, shape)
	}
}

func (v *chartView) bars() {
	room := (chartWidth - chartLeft - chartRight) / float64(max(1, len(v.Labels)))
	width := min(48, room*0.7)
	if !v.Stack && len(v.Series) > 1 {
		width /= float64(len(v.Series))
	}
	heights := make([]float64, len(v.Labels))
	for n, s := range v.Series {
		shape := chartShape{Class: colour(n)}
		for i, value := range s.Values {
			if i >= len(v.Labels) || math.IsNaN(value) || value <= 0 {
				continue
			}
			left := v.x(i) - width/2
			if !v.Stack {
				left += (float64(n) - float64(len(v.Series)-1)/2) * width
			}
			from := 0.0
			if v.Stack {
				from = heights[i]
				heights[i] += value
			}
			y := v.y(from + value)
			shape.Marks = append(shape.Marks, chartMark{
				X: px(left), Y: px(y), W: px(max(1, width-1)), H: px(max(0, v.y(from)-y)), Title: v.markTitle(s.Name, i, value),
			})
		}
		v.Shapes = append(v.Shapes, shape)
	}
}

// table is the figures as rows: a label and one figure of each series.
func (v *chartView) table() {
	for i, label := range v.Labels {
		row := []string{label}
		for _, s := range v.Series {
			cell := "–"
			if i < len(s.Values) && !math.IsNaN(s.Values[i]) {
				cell = figure(s.Values[i])
			}
			row = append(row, cell)
		}
		v.Rows = append(v.Rows, row)
	}
}

// Legend is the names of the series with their colours, when there are several.
func (v *chartView) Legend() []chartTick {
	if len(v.Series) < 2 {
		return nil
	}
	var legend []chartTick
	for n, s := range v.Series {
		legend = append(legend, chartTick{At: colour(n), Label: s.Name})
	}
	return legend
}

func (v *chartView) markTitle(series string, i int, value float64) string {
	s := v.Labels[i] + ": " + figure(value)
	if v.Unit != "" {
		s += " " + v.Unit
	}
	if len(v.Series) > 1 {
		s = series + ", " + s
	}
	return s
}

func colour(n int) string { return "series-" + strconv.Itoa(n%maxColours+1) }

// px writes a coordinate with one decimal.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// figure writes a figure with at most one decimal.
func figure(v float64) string {
	r := math.Round(v*10) / 10
	if r == math.Trunc(r) && math.Abs(r) < 1e15 {
		return group(int64(r))
	}
	return strconv.FormatFloat(r, 'f', 1, 64)
}

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
