package admission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// load sends transactions that take a time each, all at once, and returns how many were accepted, how long the last of
// them took and how long the slowest refusal.
func load(g *Gate, n int, took time.Duration) (accepted int, slowest, refusal time.Duration) {
	type result struct {
		ok   bool
		took time.Duration
	}
	results := make(chan result, n)
	for range n {
		go func() {
			arrived := time.Now()
			began, err := g.Enter(context.Background())
			if err == nil {
				time.Sleep(took)
				g.Leave(began)
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
		g := NewGate()
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
		g := &Gate{limit: 1, wait: time.Second}
		began, err := g.Enter(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b, err := g.Enter(Unhurried(context.Background())); err != nil {
			t.Error(err)
		} else {
			g.Leave(b)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := g.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := g.Enter(context.Background()); !errors.Is(err, ErrOverloaded) {
			t.Error(err)
		}
		g.Leave(began)
		if g.running != 0 || g.waiting.Len() != 0 {
			t.Errorf("%d run, %d wait", g.running, g.waiting.Len())
		}
	})
}

// TestGate_Admit checks that requests are refused at their arrival, also while those before them are still on their way
// to their transactions, that what was let in is not refused later, and that who never comes keeps nobody out.
func TestGate_Admit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{limit: 10, wait: time.Second, mean: 100 * time.Millisecond} // room for 100 that wait
		var contexts []context.Context
		for range 1000 {
			if ctx, _, ok := g.Admit(t.Context()); ok {
				contexts = append(contexts, ctx)
			}
		}
		if len(contexts) != 110 || g.refused != 890 {
			t.Fatalf("%d of 1000 are admitted, %d refused", len(contexts), g.refused)
		}
		g.mean = 200 * time.Millisecond // it has become slower meanwhile: nobody else is let in
		results := make(chan error, len(contexts))
		for _, ctx := range contexts {
			go func() {
				began, err := g.Enter(ctx)
				if err == nil {
					time.Sleep(100 * time.Millisecond)
					g.Leave(began)
				}
				results <- err
			}()
		}
		synctest.Wait()
		if _, _, ok := g.Admit(t.Context()); ok {
			t.Error("a request is admitted behind a full line")
		}
		for range contexts {
			if err := <-results; err != nil {
				t.Errorf("an admitted request is refused: %v", err)
			}
		}
		for range 1000 { // their bodies never come
			g.Admit(t.Context())
		}
		if _, _, ok := g.Admit(t.Context()); ok {
			t.Error("a request is admitted behind a full line")
		}
		time.Sleep(2 * time.Second)
		ctx, done, ok := g.Admit(t.Context())
		if !ok {
			t.Fatal("requests that never come keep others out")
		}
		done()
		if began, err := g.Enter(ctx); err != nil {
			t.Error(err)
		} else {
			g.Leave(began)
		}
		if g.coming.remove(&arrival{window: g.coming.window + 9, counted: true}) { // a clock has stepped back
			t.Error("a request of the future is on its way")
		}
		if n := g.coming.count(g.wait); n != 0 || g.running != 0 || g.waiting.Len() != 0 {
			t.Errorf("%d are coming, %d run, %d wait", n, g.running, g.waiting.Len())
		}
	})
}
