// Package progresstest records what work tells of its progress.
package progresstest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/progress"
)

// Recorder keeps the parts of the work.
type Recorder struct {
	mu    sync.Mutex
	parts []*Part
}

// Part is a part of the work and how much of it was done.
type Part struct {
	What        string
	Unit        progress.Unit
	Total, Done int64
}

// Context returns a context whose work is recorded.
func (r *Recorder) Context(ctx context.Context) context.Context {
	return progress.With(ctx, func(what string, unit progress.Unit, total int64) func(int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		p := &Part{What: what, Unit: unit, Total: total}
		r.parts = append(r.parts, p)
		return func(n int64) {
			r.mu.Lock()
			defer r.mu.Unlock()
			p.Done += n
		}
	})
}

// Parts returns the names of the parts in their order.
func (r *Recorder) Parts() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parts {
		names = append(names, p.What)
	}
	return names
}

// WantDone checks that there were parts of these names, whose totals were known, are not 0, and were done to the end.
func (r *Recorder) WantDone(t testing.TB, names ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		i := slices.IndexFunc(r.parts, func(p *Part) bool { return p.What == name && p.Total > 0 })
		switch {
		case i < 0:
			t.Errorf("no part of the work is %q with a total", name)
		case r.parts[i].Done != r.parts[i].Total:
			t.Errorf("%q told of %d of %d", name, r.parts[i].Done, r.parts[i].Total)
		}
	}
}
