package expect

import (
	"fmt"
	"sync"
	"testing"
)

// problemsKept is how many problems are reported at most.
const problemsKept = 20

// Problems collects what several goroutines find wrong, to be reported at the end of the test.
type Problems struct {
	mu  sync.Mutex
	all []string
}

// Add adds a problem.
func (p *Problems) Add(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) < problemsKept {
		p.all = append(p.all, fmt.Sprintf(format, args...))
	}
}

// Report fails the test for every problem; what names their subject.
func (p *Problems) Report(t testing.TB, what string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.all {
		t.Errorf("%s: %s", what, problem)
	}
}
