package fakeclock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/fakeclock"
)

var start = time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC)

func TestClock(t *testing.T) {
	clock := fakeclock.New(start)
	if got := clock.Now(); !got.Equal(start) {
		t.Errorf("new clock stands at %v, want %v", got, start)
	}
	want := start.Add(time.Second)
	if got := clock.Advance(time.Second); !got.Equal(want) || !clock.Now().Equal(want) {
		t.Errorf("after Advance(1s): returned %v, stands at %v, want %v", got, clock.Now(), want)
	}
	clock.Advance(-time.Second)
	if got := clock.Now(); !got.Equal(start) {
		t.Errorf("after Advance(-1s): %v, want %v", got, start)
	}
	later := start.AddDate(1, 0, 0)
	clock.Set(later)
	if got := clock.Now(); !got.Equal(later) {
		t.Errorf("after Set: %v, want %v", got, later)
	}
}

func TestClock_Concurrent(t *testing.T) {
	clock := fakeclock.New(start)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			clock.Advance(time.Millisecond)
			_ = clock.Now()
		})
	}
	group.Wait()
	if got, want := clock.Now(), start.Add(100*time.Millisecond); !got.Equal(want) {
		t.Errorf("after 100 parallel steps of 1ms: %v, want %v", got, want)
	}
}
