package requestlog_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assayhq/assay/internal/domain/access"
	domain "github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/worker/liveness"
	"github.com/assayhq/assay/internal/worker/requestlog"
)

// shelf is where requests are stored, or not.
type shelf struct {
	mu       sync.Mutex
	requests int
	away     bool
	most     int // blocks at once
	calls    int // until it is away; 0: any number
}

func (s *shelf) RecordRequests(_ context.Context, blocks []*domain.Block) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, len(blocks))
	if s.away {
		return errors.New("away")
	}
	if s.calls--; s.calls == 0 {
		s.away = true
	}
	for _, b := range blocks {
		s.requests += b.Requests
	}
	return nil
}

func (s *shelf) stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *shelf) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func entry(account string, refusal string) domain.Entry {
	return domain.Entry{
		ID: uuid.Must(uuid.NewV7()), Tenant: access.Tenant{AccountID: account, Environment: access.Test}, Refusal: refusal,
	}
}

// TestLog checks that every request is stored or counted as dropped, whatever the database does.
func TestLog(t *testing.T) {
	var out child.Output
	s := new(shelf)
	registry := prometheus.NewRegistry()
	l := requestlog.New(s, slog.New(slog.NewTextHandler(&out, nil)), registry)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	sum := func(name string) (n float64) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				n += f.GetMetric()[0].GetCounter().GetValue()
			}
		}
		return n
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("metrics: %v, %v", problems, err)
	}

	added := 0
	add := func(n int, refusal string) {
		for range n {
			l.Add(entry([]string{"a", "b", "c"}[added%3], refusal))
			added++
		}
	}
	add(3*domain.MaxBlock+10, "")
	must.Eventually(t, time.Minute, "everything is stored", func() bool { return s.stored() == added })

	s.set(true)
	big := strings.Repeat("x", 4000)
	add(5000, big) // 20 MB
	dropped := int(sum("assay_request_log_dropped_total"))
	if dropped == 0 || dropped > 4000 {
		t.Fatalf("%d requests were dropped", dropped)
	}
	must.Eventually(t, time.Minute, "the loss is said", func() bool {
		return strings.Contains(out.String(), "requests are missing in the request log")
	})
	if f := l.Failures(); f.Count == 0 || f.Err == nil {
		t.Errorf("nothing has failed: %+v", f)
	}
	s.set(false)
	must.Eventually(t, time.Minute, "what was kept is stored", func() bool { return s.stored() == added-dropped })
	must.Eventually(t, time.Minute, "nothing fails anymore", func() bool { return l.Failures().Err == nil })
	if got := int(sum("assay_request_log_recorded_total")); got != added-dropped {
		t.Errorf("%d requests are counted as recorded", got)
	}

	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	add(5, "") // answered while the server shuts down
	if err := l.Flush(t.Context()); err != nil || s.stored() != added-dropped {
		t.Errorf("%d of %d requests are stored, %v", s.stored(), added-dropped, err)
	}
	if age, limit := l.Progress(); age > limit || limit < time.Second {
		t.Errorf("the last progress was %v ago", age)
	}
}

// TestFlush_Parts checks that what has gathered is stored in transactions of a limited size, and that what is stored of
// it stays stored when the database goes away in the middle.
func TestFlush_Parts(t *testing.T) {
	const accounts, most = 1000, 300
	s := &shelf{calls: 2}
	l := requestlog.New(s, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	for n := range accounts {
		l.Add(entry(strconv.Itoa(n), ""))
	}
	if err := l.Flush(t.Context()); err == nil {
		t.Error("the database was away, and nobody noticed")
	}
	if n := s.stored(); n == 0 || n > 2*most {
		t.Errorf("%d requests are stored before the database goes away", n)
	}
	if _, limit := l.Progress(); limit != liveness.NoLimit {
		t.Errorf("a node without its request log is not ready after %s", limit)
	}
	s.set(false)
	must.NoError(t, l.Flush(t.Context()))
	if n := s.stored(); n != accounts || s.most > most {
		t.Errorf("%d requests are stored of %d, up to %d blocks at once", n, accounts, s.most)
	}
}
