package main

import (
	"slices"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/requires"
)

// TestFigures runs the parts that work on a database of their own beside the program: what these do with it has to
// follow the program. The figures of such short rounds mean nothing.
func TestFigures(t *testing.T) {
	requires.Engine(t, "PostgreSQL")
	s := &suite{
		scale: scale{rounds: 1, round: 100 * time.Millisecond, warmUp: 10 * time.Millisecond, history: 100},
		quick: true, folder: t.TempDir(), cache: t.TempDir(), binary: program.Build(t), report: &report{quiet: true},
		only: []string{webhooksName + "throughput", "request log: "},
	}
	for _, part := range []func() error{
		func() error { return requestLog(t.Context(), s) },
		func() error { return webhooks(t.Context(), s) },
	} {
		must.NoError(t, s.thenClose(part))
	}
	var names []string
	for _, f := range s.report.figures {
		names = append(names, f.Name)
		if f.Rate <= 0 || f.Base <= 0 || f.Ratio <= 0 {
			t.Errorf("%s: nothing was measured: %+v", f.Name, f)
		}
	}
	want := []string{
		"request log: GET /catalog/brands", "request log: GET /balance", "request log: POST /orders",
		"webhooks: throughput, SQLite", "webhooks: throughput, PostgreSQL",
	}
	if !slices.Equal(names, want) {
		t.Errorf("figures: %q, want %q", names, want)
	}
}
