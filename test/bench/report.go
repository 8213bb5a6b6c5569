package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// figure is the result of one comparison.
type figure struct {
	Name   string  `json:"name"`
	Ratio  float64 `json:"ratio"` // of rates: higher is better; with a limit, of costs: lower is better
	Rate   float64 `json:"rate"`
	Base   float64 `json:"base"` // what Rate is compared with
	Unit   string  `json:"unit"`
	Versus string  `json:"versus"`

	Work     float64 `json:"processor_us,omitempty"` // of a processor, for one answer
	BaseWork float64 `json:"base_processor_us,omitempty"`
	Limit    float64 `json:"limit,omitempty"` // that the ratio of two costs should not exceed
	P50      float64 `json:"p50_ms,omitempty"`
	P99      float64 `json:"p99_ms,omitempty"`
}

// report collects figures and prints each immediately, because a run takes minutes.
type report struct {
	quiet   bool
	figures []figure
}

func (r *report) add(f figure) {
	r.figures = append(r.figures, f)
	if !r.quiet {
		fmt.Fprintf(os.Stderr, "%-34s %5.2f of %s%s\n", f.Name, f.Ratio, f.Versus, f.limitNote())
	}
}

// limitNote states the limit of a cost and whether it is exceeded.
func (f *figure) limitNote() string {
	switch {
	case f.Limit == 0:
		return ""
	case f.Ratio > f.Limit:
		return fmt.Sprintf(" (limit %.1f: EXCEEDED)", f.Limit)
	}
	return fmt.Sprintf(" (limit %.1f)", f.Limit)
}

func (r *report) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "figure\tratio\tassay\tbase\tunit\tcpu µs\tbase µs\tp50 ms\tp99 ms\t compared with\t")
	for _, f := range r.figures {
		details := "\t\t\t"
		if f.P99 > 0 {
			details = fmt.Sprintf("%.0f\t%.0f\t%.2f\t%.2f", f.Work, f.BaseWork, f.P50, f.P99)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.0f\t%.0f\t%s\t%s\t %s%s\t\n",
			f.Name, f.Ratio, f.Rate, f.Base, f.Unit, details, f.Versus, f.limitNote())
	}
	_ = w.Flush() // of a table on standard output
}
