package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	costLimit  = 1.5 // a higher ratio is a regression
	costCount  = 60  // requests per round
	quickCount = 10
)

// pageRequest is a repeated request of a browser or a desk API client.
type pageRequest struct {
	server *server
	method string
	path   string
	header http.Header
	want   string                      // what every answer contains: a page without it shows nothing
	few    bool                        // costs much: few requests a round
	after  func(context.Context) error // restores what a round has consumed; may be nil
}

// round sends requests sequentially and returns their latencies.
func (v *pageRequest) round(ctx context.Context, client *http.Client, quick bool) (took []time.Duration, err error) {
	requests := costCount
	if quick || v.few {
		requests = quickCount
	}
	for range requests {
		request, err := http.NewRequestWithContext(ctx, v.method, "http://"+v.server.http+v.path, http.NoBody)
		if err != nil {
			return nil, err
		}
		request.Header = v.header
		sent := time.Now()
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		took = append(took, time.Since(sent))
		if err == nil && (response.StatusCode != http.StatusOK || !strings.Contains(string(body), v.want)) {
			err = fmt.Errorf("%s %s: status %d, without %q", v.method, v.path, response.StatusCode, v.want)
		}
		_ = response.Body.Close() // read to its end
		if err != nil {
			return nil, err
		}
	}
	if v.after != nil {
		err = v.after(ctx)
	}
	return took, err
}

// cost compares the latency of two requests in alternating rounds, by the median of each round.
func (s *suite) cost(ctx context.Context, name, versus string, g goal, measured, base *pageRequest) error {
	if !s.wanted(name) {
		return nil
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	as := func(name string, v *pageRequest) *side {
		return &side{name: name, round: func(ctx context.Context, _ time.Duration) (sample, error) {
			before, err := processorTime(v.server.process.PID())
			if err != nil {
				return sample{}, err
			}
			took, err := v.round(ctx, client, s.quick)
			if err != nil {
				return sample{}, err
			}
			after, err := processorTime(v.server.process.PID())
			slices.Sort(took)
			return sample{
				rate: 1 / took[len(took)/2].Seconds(), work: (after - before) / time.Duration(len(took)), latencies: took,
			}, err
		}}
	}
	a, b := as(name, measured), as(versus, base)
	if err := s.interleave(ctx, a, b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.costs(name, "pages/s", g, a, b)
	return s.profile(ctx, name, measured.server.ops, func(ctx context.Context, d time.Duration) error {
		for end := time.Now().Add(d); time.Now().Before(end); {
			if _, err := measured.round(ctx, client, true); err != nil {
				return err
			}
		}
		return nil
	})
}
