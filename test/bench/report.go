package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// figure is the result of one comparison, or one value.
type figure struct {
	Name   string  `json:"name"`
	Ratio  float64 `json:"ratio"` // the median over the rounds; without a base, the value itself
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Rounds int     `json:"rounds"`
	Rate   float64 `json:"rate"`
	Base   float64 `json:"base,omitempty"` // what Rate is compared with
	Unit   string  `json:"unit"`
	Versus string  `json:"versus"`

	Work     float64 `json:"cpu_us,omitempty"` // CPU time for one answer
	BaseWork float64 `json:"base_cpu_us,omitempty"`
	P50      float64 `json:"p50_ms,omitempty"`
	P99      float64 `json:"p99_ms,omitempty"`
	BaseP50  float64 `json:"base_p50_ms,omitempty"`
	BaseP99  float64 `json:"base_p99_ms,omitempty"`

	Target float64 `json:"target,omitempty"`
	AtMost bool    `json:"at_most,omitempty"` // the target is a maximum
	Missed bool    `json:"missed"`
}

// set stores the ratios of the rounds and compares them with the target.
func (f *figure) set(ratios []float64, g goal) {
	f.Ratio, f.Low, f.High, f.Rounds = median(ratios), slices.Min(ratios), slices.Max(ratios), len(ratios)
	f.Target, f.AtMost = g.value, g.atMost
	// What is printed decides: a ratio of 0.499 is printed as 0.50.
	seen := math.Round(f.Ratio*100) / 100
	f.Missed = g.value != 0 && (g.atMost && seen > g.value || !g.atMost && seen < g.value)
}

// value returns a figure without a base.
func value(name, unit, what string, values []float64, g goal) figure {
	f := figure{Name: name, Unit: unit, Versus: what, Rate: median(values)}
	f.set(values, g)
	return f
}

func (f *figure) goal() string {
	switch {
	case f.Target == 0:
		return ""
	case f.AtMost:
		return fmt.Sprintf("≤ %.4g", f.Target)
	}
	return fmt.Sprintf("≥ %.4g", f.Target)
}

func (f *figure) verdict() string {
	switch {
	case f.Target == 0:
		return ""
	case f.Missed:
		return "missed"
	}
	return "met"
}

// report collects figures and prints each immediately, because a run takes minutes.
type report struct {
	quiet   bool
	began   time.Time
	figures []figure
}

func (r *report) add(f figure) {
	r.figures = append(r.figures, f)
	if !r.quiet {
		fmt.Fprintf(os.Stderr, "%5.0fs  %-62s %7.2f (%.2f-%.2f) of %s  %s %s\n", time.Since(r.began).Seconds(), f.Name,
			f.Ratio, f.Low, f.High, f.Versus, f.goal(), strings.ToUpper(f.verdict()))
	}
}

func (r *report) missed() (n int) {
	for i := range r.figures {
		if r.figures[i].Missed {
			n++
		}
	}
	return n
}

// columns are the heads of the table.
var columns = []string{
	"figure", "ratio", "low-high", "target", "", "assay", "base", "unit", "CPU µs", "base µs", "p50", "p99 ms", "base p50",
	"base p99", "compared with",
}

// row returns the cells of a figure.
func (f *figure) row() []string {
	number := func(v float64) string {
		switch {
		case v == 0:
			return ""
		case v < 10:
			return fmt.Sprintf("%.2f", v)
		case v < 100:
			return fmt.Sprintf("%.1f", v)
		}
		return fmt.Sprintf("%.0f", v)
	}
	return []string{
		f.Name, fmt.Sprintf("%.2f", f.Ratio), fmt.Sprintf("%.2f-%.2f", f.Low, f.High), f.goal(), f.verdict(), number(f.Rate),
		number(f.Base), f.Unit, number(f.Work), number(f.BaseWork), number(f.P50), number(f.P99), number(f.BaseP50),
		number(f.BaseP99), f.Versus,
	}
}

// print writes the figures as a table of Markdown, aligned for terminals.
func (r *report) print(to io.Writer) {
	rows := [][]string{columns}
	for i := range r.figures {
		rows = append(rows, r.figures[i].row())
	}
	widths := make([]int, len(columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)), 3)
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(to, "| %-*s ", widths[i], cell)
		}
		fmt.Fprintln(to, "|")
		if n == 0 {
			for _, width := range widths {
				fmt.Fprintf(to, "| %s ", strings.Repeat("-", width))
			}
			fmt.Fprintln(to, "|")
		}
	}
}
