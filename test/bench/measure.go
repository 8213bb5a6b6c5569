package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"
)

// sample is the measurement of one round.
type sample struct {
	rate      float64       // per second
	work      time.Duration // CPU time for one answer, order or delivery
	latencies []time.Duration
}

func (s *sample) p99() float64 { return percentile(slices.Sorted(slices.Values(s.latencies)), 0.99) }

// side is one of the programs that take turns.
type side struct {
	name    string
	round   func(ctx context.Context, duration time.Duration) (sample, error)
	samples []sample // of all rounds, in order
}

// interleave lets all sides take turns, so that other load affects all of them. Who goes first alternates, and each
// begins when the one before has nothing left to do.
func (s *suite) interleave(ctx context.Context, sides ...*side) error {
	for _, one := range sides {
		if _, err := one.round(ctx, s.warmUp); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		one.samples = nil
	}
	order := slices.Clone(sides)
	for range s.rounds {
		for _, one := range order {
			if err := s.untilQuiet(ctx); err != nil {
				return err
			}
			measured, err := one.round(ctx, s.round)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			one.samples = append(one.samples, measured)
		}
		slices.Reverse(order)
	}
	return ctx.Err()
}

// goal is what a ratio or a value should be; 0: there is none.
type goal struct {
	value  float64
	atMost bool // else at least
}

func atLeast(v float64) goal { return goal{value: v} }
func atMost(v float64) goal  { return goal{value: v, atMost: true} }

const requestUnit = "req/s"

// rates adds the ratio of the rates of two sides.
func (s *suite) rates(name, unit string, g goal, measured, base *side) {
	s.compareSides(name, unit, g, measured, base, func(a, b sample) float64 { return a.rate / b.rate })
}

// costs adds the ratio of the times that the two sides take for an answer.
func (s *suite) costs(name, unit string, g goal, measured, base *side) {
	s.compareSides(name, unit, g, measured, base, func(a, b sample) float64 { return b.rate / a.rate })
}

func (s *suite) compareSides(name, unit string, g goal, measured, base *side, ratio func(a, b sample) float64) {
	if !s.wanted(name) {
		return
	}
	var ratios []float64
	for i := range measured.samples {
		ratios = append(ratios, ratio(measured.samples[i], base.samples[i]))
	}
	a, b := measured.summary(), base.summary()
	f := figure{
		Name: name, Versus: base.name, Unit: unit, Rate: a.rate, Base: b.rate, Work: a.work, BaseWork: b.work, P50: a.p50,
		P99: a.p99, BaseP50: b.p50, BaseP99: b.p99,
	}
	f.set(ratios, g)
	s.report.add(f)
}

// summary are the medians over the rounds; the percentiles are those of all answers.
type summary struct{ rate, work, p50, p99 float64 }

func (s *side) summary() summary {
	var rates, work []float64
	var all []time.Duration
	for _, one := range s.samples {
		rates, work = append(rates, one.rate), append(work, microseconds(one.work))
		all = append(all, one.latencies...)
	}
	slices.Sort(all)
	return summary{median(rates), median(work), percentile(all, 0.5), percentile(all, 0.99)}
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// percentile of sorted latencies, in milliseconds.
func percentile(ordered []time.Duration, share float64) float64 {
	if len(ordered) == 0 {
		return 0
	}
	return float64(ordered[int(share*float64(len(ordered)-1))].Microseconds()) / 1000
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

const profileTime = 5 * time.Second

// saveProfile writes a CPU profile of the program under the load of one or more figures, for the first of them that has
// missed its target.
func (s *suite) saveProfile(ctx context.Context, t *target, names ...string) error {
	missed := slices.IndexFunc(names, s.profiled)
	if missed < 0 {
		return ctx.Err()
	}
	return s.profile(ctx, names[missed], t.ops, func(ctx context.Context, d time.Duration) error {
		_, err := t.load(ctx, d)
		return err
	})
}

// profile is saveProfile for any load of the server with an ops listener.
func (s *suite) profile(
	ctx context.Context, name, ops string, load func(context.Context, time.Duration) error,
) error {
	if !s.profiled(name) {
		return ctx.Err()
	}
	var both errgroup.Group
	both.Go(func() error { return load(ctx, profileTime+time.Second) })
	both.Go(func() error {
		profile, err := exchange(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", ops,
			profileTime/time.Second), nil, nil)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(s.profiles, 0o700),
			os.WriteFile(filepath.Join(s.profiles, profileName(name)), profile, 0o600))
	})
	return both.Wait()
}

// profiled reports whether a profile of a figure is wanted: it has missed its target.
func (s *suite) profiled(name string) bool {
	missed := func(f figure) bool { return f.Name == name && f.Missed }
	return s.profiles != "" && slices.ContainsFunc(s.report.figures, missed)
}

// profileName is the file of a figure's profile.
func profileName(figure string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, figure), "-") + ".pprof"
}
