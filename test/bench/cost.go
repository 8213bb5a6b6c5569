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
	costLimit = 1.5 // more than that much dearer is no longer the same
	costTurns = 7
	costCount = 60 // requests in a turn
	costUnit  = "µs"
)

// visit is one request that a person's browser, or a program at the desk, sends again and again.
type visit struct {
	server *server
	method string
	path   string
	header http.Header
	after  func(context.Context) error // makes good what a turn of requests has used up; nil: nothing
}

// turn sends requests one after the other and returns how long each took.
func (v *visit) turn(ctx context.Context, client *http.Client) (took []time.Duration, err error) {
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

// cost compares what one answer costs in two places, in turns, by the median time of each turn. The limit, 0 for
// none, is named in the report.
func (s *suite) cost(ctx context.Context, name, versus string, limit float64, measured, base *visit) error {
	if !s.wanted(name) {
		return nil
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	var costs, bases, ratios []float64
	var all []time.Duration
	for turn := range costTurns + 1 {
		var middle [2]float64
		for i, v := range []*visit{measured, base} {
			took, err := v.turn(ctx, client)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			slices.Sort(took)
			middle[i] = 1000 * percentile(took, 0.5)
			if turn > 0 && i == 0 {
				all = append(all, took...)
			}
		}
		if turn > 0 { // the first one is to warm up
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
