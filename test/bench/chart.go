package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Measures of the chart, in pixels.
const (
	chartWidth  = 1060
	chartNames  = 470 // where the bars begin
	chartBars   = 440
	chartRow    = 22
	chartTop    = 58
	chartBottom = 24
)

// chart draws the figures that have a target: a bar is how far a figure is on a logarithmic scale from a quarter of its
// target to four times as good; the line is the target.
func (r *report) chart() string {
	var rows strings.Builder
	y := chartTop
	for i := range r.figures {
		f := &r.figures[i]
		if f.Target == 0 {
			continue
		}
		class := "met"
		if f.Missed {
			class = "missed"
		}
		end := position(f.score())
		fmt.Fprintf(&rows, `<text class="name" x="%d" y="%d">%s</text>`, chartNames-10, y+15, html.EscapeString(f.Name))
		fmt.Fprintf(&rows, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`, class, chartNames, y+4,
			math.Max(2, end-chartNames), chartRow-8)
		fmt.Fprintf(&rows, `<text x="%d" y="%d">%.2f, target %s</text>`+"\n", chartNames+chartBars+12, y+15, f.Ratio,
			html.EscapeString(f.goal()))
		y += chartRow
	}
	line := position(1)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">
<style>
svg { font: 12px system-ui, sans-serif; background: #fff; fill: #1a1a1a }
.name { text-anchor: end } .head { font-weight: 600; font-size: 14px } .met { fill: #2a7f5f } .missed { fill: #c2452d }
line { stroke: #1a1a1a; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
  svg { background: #16181c; fill: #e8e8e8 } .met { fill: #4fb58d } .missed { fill: #e5725c } line { stroke: #e8e8e8 }
}
</style>
<text class="head" x="16" y="24">%[3]s</text>
<text x="16" y="44">Longer is better. The dashed line is the target; green bars reach it.</text>
%[4]s<line x1="%.1[5]f" y1="%[6]d" x2="%.1[5]f" y2="%[7]d"/>
</svg>
`, chartWidth, y+chartBottom, html.EscapeString(r.summary()), rows.String(), line, chartTop-4, y+4)
}

// score is how good a figure is: 1 reaches the target, 2 is twice as good.
func (f *figure) score() float64 {
	if f.AtMost {
		return f.Target / math.Max(f.Ratio, f.Target/4)
	}
	return f.Ratio / f.Target
}

// position is where a score is, from a quarter to four times the target.
func position(score float64) float64 {
	share := (math.Log2(math.Min(math.Max(score, 0.25), 4)) + 2) / 4
	return chartNames + share*chartBars
}

func (r *report) summary() string {
	return fmt.Sprintf("Assay: %d of %d targets met", r.met(), r.met()+r.missed())
}

func (r *report) met() (n int) {
	for i := range r.figures {
		if r.figures[i].Target != 0 && !r.figures[i].Missed {
			n++
		}
	}
	return n
}
