package db

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/testkit/pgtest"
)

// TestPool_Batched checks that reads which come while others are on their way are sent together: each gets its own
// result, one that fails fails alone, and one whose request ends meanwhile is not sent.
func TestPool_Batched(t *testing.T) {
	s, err := Open(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	p := newPool(s.sql)
	number := func(ctx context.Context, text string, take func(int64)) error {
		rec := new(Record)
		return p.batchedRecords(ctx, text, nil, rec, func() error {
			take(rec.Integer(0))
			return nil
		})
	}
	awaitWaiting := func(n int) {
		for waiting := -1; waiting != n; {
			p.batcher.lock.Lock()
			waiting = len(p.batcher.waiting)
			p.batcher.lock.Unlock()
		}
	}

	const waiters = maxReadsPerRoundTrip + 10
	held, release := make(chan struct{}, maxRoundTrips), make(chan struct{})
	var all sync.WaitGroup
	for range maxRoundTrips {
		all.Go(func() {
			if err := number(t.Context(), "SELECT 1::bigint", func(int64) { held <- struct{}{}; <-release }); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxRoundTrips {
		<-held
	}
	gone, cancel := context.WithCancel(t.Context())
	all.Go(func() {
		if err := number(gone, "SELECT 2::bigint", func(int64) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("a read whose request has ended: %v", err)
		}
	})
	awaitWaiting(1)
	cancel()
	awaitWaiting(0)
	for i := range waiters {
		all.Go(func() {
			switch i % 16 {
			case 1:
				err := number(t.Context(), "SELECT 1/0::bigint", func(int64) {})
				if err == nil || !strings.Contains(err.Error(), "division by zero") {
					t.Errorf("a division by zero gives %v", err)
				}
			case 2:
				wantOwnError(t, func(each func() error) error {
					return p.batchedRecords(t.Context(), "SELECT 1::bigint", nil, new(Record), each)
				})
			default:
				var got int64
				if err := number(t.Context(), "SELECT 7::bigint", func(n int64) { got += n }); err != nil || got != 7 {
					t.Errorf("read %d, %v, want 7", got, err)
				}
			}
		})
	}
	awaitWaiting(waiters)
	close(release)
	all.Wait()
	if p.batcher.running != 0 || len(p.batcher.waiting) != 0 {
		t.Errorf("%d round trips are on their way, %d reads wait", p.batcher.running, len(p.batcher.waiting))
	}
}
