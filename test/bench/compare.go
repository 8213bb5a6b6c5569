package main

import (
	"context"
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

const (
	rounds      = 5
	roundTime   = 500 * time.Millisecond
	warmUpTime  = 300 * time.Millisecond
	requestUnit = "req/s"
)

// compare loads two targets in short alternating rounds, so that other load affects both, and reports the medians.
func (s *suite) compare(ctx context.Context, name, versus string, measured, base *target) error {
	if !s.wanted(name) {
		return nil
	}
	for _, t := range []*target{measured, base} {
		if _, err := t.load(ctx, warmUpTime); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var rates, bases, ratios, work, baseWork []float64
	var latencies []time.Duration
	for range rounds {
		a, err := measured.load(ctx, roundTime)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b, err := base.load(ctx, roundTime)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, versus, err)
		}
		rates, bases, ratios = append(rates, a.rate), append(bases, b.rate), append(ratios, a.rate/b.rate)
		work, baseWork = append(work, microseconds(a.work)), append(baseWork, microseconds(b.work))
		latencies = append(latencies, a.latencies...)
	}
	slices.Sort(latencies)
	s.report.add(figure{
		Name: name, Ratio: median(ratios), Rate: median(rates), Base: median(bases), Unit: requestUnit, Work: median(work),
		BaseWork: median(baseWork), P50: percentile(latencies, 0.5), P99: percentile(latencies, 0.99), Versus: versus,
	})
	return s.saveProfile(ctx, name, measured)
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// saveProfile writes a CPU profile of the program under load, if requested.
func (s *suite) saveProfile(ctx context.Context, name string, measured *target) error {
	if s.profiles == "" {
		return ctx.Err()
	}
	const seconds = 5
	var both errgroup.Group
	both.Go(func() error {
		_, err := measured.load(ctx, (seconds+1)*time.Second)
		return err
	})
	both.Go(func() error {
		profile, err := exchange(ctx, http.MethodGet,
			fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", measured.ops, seconds), nil, nil, http.StatusOK)
		if err != nil {
			return err
		}
		file := strings.Trim(strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return '-'
		}, name), "-") + ".pprof"
		return os.WriteFile(filepath.Join(s.profiles, file), profile, 0o600)
	})
	return both.Wait()
}
