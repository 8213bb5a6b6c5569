package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

const (
	costLimit  = 1.5 // a higher ratio is a regression
	costRounds = 7
	costCount  = 60 // requests per round
	costUnit   = "µs"
)

// pageRequest is a repeated request of a browser or a desk API client.
type pageRequest struct {
	server *server
	method string
	path   string
	header http.Header
	after  func(context.Context) error // restores what a round has consumed; may be nil
}

// round sends of requests sequentially and returns their latencies.
func (v *pageRequest) round(ctx context.Context, client *http.Client) (took []time.Duration, err error) {
	for range costCount {
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
		_, err = io.Copy(io.Discard, response.Body)
		took = append(took, time.Since(sent))
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: status %d", v.method, v.path, response.StatusCode)
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

// cost compares the latency of two requests in alternating rounds, by the median of each round. limit is the
// maximum ratio, 0 for none.
func (s *suite) cost(ctx context.Context, name, versus string, limit float64, measured, base *pageRequest) error {
	if !s.wanted(name) {
		return nil
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	var costs, bases, ratios []float64
	var all []time.Duration
	for turn := range costRounds + 1 {
		var middle [2]float64
		for i, v := range []*pageRequest{measured, base} {
			took, err := v.round(ctx, client)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			slices.Sort(took)
			middle[i] = 1000 * percentile(took, 0.5)
			if turn > 0 && i == 0 {
				all = append(all, took...)
			}
		}
		if turn > 0 { // the first round is a warm-up
			costs, bases, ratios = append(costs, middle[0]), append(bases, middle[1]), append(ratios, middle[0]/middle[1])
		}
	}
	slices.Sort(all)
	s.report.add(figure{
		Name: name, Ratio: median(ratios), Rate: median(costs), Base: median(bases), Unit: costUnit, Limit: limit,
		P50: percentile(all, 0.5), P99: percentile(all, 0.99), Versus: versus,
	})
	return ctx.Err()
}
