package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// load sends transactions that take a time each, all at once, and returns how many were accepted, how long the last of
// them took and how long the slowest refusal.
func load(g *gate, n int, took time.Duration) (accepted int, slowest, refusal time.Duration) {
	type result struct {
		ok   bool
		took time.Duration
	}
	results := make(chan result, n)
	for range n {
		go func() {
			arrived := time.Now()
			began, err := g.enter(context.Background())
			if err == nil {
				time.Sleep(took)
				g.leave(began)
			}
			results <- result{err == nil, time.Since(arrived)}
		}()
	}
	for range n {
		if r := <-results; r.ok {
			accepted++
			slowest = max(slowest, r.took)
		} else {
			refusal = max(refusal, r.took)
		}
	}
	return accepted, slowest, refusal
}

// TestGate checks that overload is refused at once once it is known how long a transaction takes, that what is accepted
// ends soon, and that a load that can be served is.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		if accepted, slowest, _ := load(g, 2000, 10*time.Millisecond); accepted != 2000 {
			t.Errorf("%d of 2000 quick transactions were accepted (%s)", accepted, slowest)
		}
		load(g, 2000, 500*time.Millisecond) // it learns
		accepted, slowest, refusal := load(g, 2000, 500*time.Millisecond)
		if accepted < 256 || accepted > 600 || slowest > 2*time.Second || refusal > 100*time.Millisecond {
			t.Errorf("%d were accepted and took up to %s; the others were refused within %s", accepted, slowest, refusal)
		}
		if g.running != 0 || g.waiting.Len() != 0 || g.refused == 0 {
			t.Errorf("%d run, %d wait, %d were refused", g.running, g.waiting.Len(), g.refused)
		}
		load(g, 1, 0)
		if accepted, _, _ := load(g, 100, 0); accepted != 100 {
			t.Errorf("afterwards %d of 100 were accepted", accepted)
		}
	})
}

// TestGate_Background checks that background work is never refused, and that a caller who gives up leaves the line.
func TestGate_Background(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{limit: 1, wait: time.Second}
		began, err := g.enter(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b, err := g.enter(Unhurried(context.Background())); err != nil {
			t.Error(err)
		} else {
			g.leave(b)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := g.enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := g.enter(context.Background()); !errors.Is(err, errOverloaded) {
			t.Error(err)
		}
		g.leave(began)
		if g.running != 0 || g.waiting.Len() != 0 {
			t.Errorf("%d run, %d wait", g.running, g.waiting.Len())
		}
	})
}
