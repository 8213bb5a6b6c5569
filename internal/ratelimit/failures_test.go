package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

func fail(f *Failures, addr string, times int) {
	for range times {
		f.Fail(context.Background(), addr)
	}
}

// blockedFor looks without counting.
func blockedFor(f *Failures, addr string) (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now().Sub(f.epoch)
	w := f.windows.running(origin(addr), now)
	if w == nil || w.count < f.limit {
		return 0, false
	}
	return f.windows.left(w, now), true
}

func wantBlocked(t *testing.T, f *Failures, addr string, want time.Duration) {
	t.Helper()
	got, blocked := blockedFor(f, addr)
	if got != want || blocked != (want > 0) {
		t.Errorf("Blocked(%s) = %v, %v, want %v", addr, got, blocked, want)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()

	t.Run("BlocksAtTheLimit", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		f := NewFailures(DefaultFailureLimit, c.now)
		wantBlocked(t, f, "198.51.100.7", 0)
		fail(f, "198.51.100.7", 299)
		wantBlocked(t, f, "198.51.100.7", 0)
		c.advance(20 * time.Second)
		fail(f, "198.51.100.7", 1)
		wantBlocked(t, f, "198.51.100.7", 40*time.Second)
		wantBlocked(t, f, "198.51.100.8", 0)
	})

	t.Run("EndsWithTheWindow", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		f := NewFailures(2, c.now)
		fail(f, "198.51.100.7", 2)
		c.advance(59 * time.Second)
		fail(f, "198.51.100.7", 50) // does not make it longer
		wantBlocked(t, f, "198.51.100.7", time.Second)
		c.advance(time.Second)
		wantBlocked(t, f, "198.51.100.7", 0)
		fail(f, "198.51.100.7", 1)
		wantBlocked(t, f, "198.51.100.7", 0)
	})

	t.Run("TellsWhenToComeBack", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		f := NewFailures(1, c.now)
		if _, blocked := f.Fail(t.Context(), "198.51.100.7"); blocked {
			t.Error("the first failure is blocked")
		}
		c.advance(15 * time.Second)
		if wait, blocked := f.Fail(t.Context(), "198.51.100.7"); !blocked || wait != 45*time.Second {
			t.Errorf("Fail = %v, %v, want 45 s", wait, blocked)
		}
	})

	t.Run("Off", func(t *testing.T) {
		t.Parallel()
		for _, limit := range []int{0, -1} {
			f := NewFailures(limit, newClock().now)
			fail(f, "198.51.100.7", 1000)
			wantBlocked(t, f, "198.51.100.7", 0)
		}
	})

	for name, test := range map[string]struct {
		failed, asked string
		together      bool
	}{
		"SameIPv4":           {"198.51.100.7", "198.51.100.7", true},
		"NeighbourIPv4":      {"198.51.100.7", "198.51.100.6", false},
		"WithAndWithoutPort": {"198.51.100.7:4711", "198.51.100.7", true},
		"MappedIPv4":         {"::ffff:198.51.100.7", "198.51.100.7", true},
		"OtherMappedIPv4":    {"::ffff:198.51.100.7", "::ffff:198.51.100.8", false},
		"SameNetworkIPv6":    {"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
		"OtherNetworkIPv6":   {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		"IPv6WithPort":       {"[2001:db8:0:1::1]:443", "2001:db8:0:1::9", true},
		"Zone":               {"fe80::1%eth0", "fe80::2%eth1", true},
		"NotAnAddress":       {"@", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := NewFailures(1, newClock().now)
			fail(f, test.failed, 1)
			if _, blocked := blockedFor(f, test.asked); blocked != test.together {
				t.Errorf("after a failure of %q, Blocked(%q) = %v", test.failed, test.asked, blocked)
			}
		})
	}
}

func TestFailuresMemoryIsBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := NewFailures(1, c.now)
	f.max = 100
	for i := range 1000 {
		fail(f, fmt.Sprintf("10.0.%d.%d", i/256, i%256), 1)
	}
	if got := len(f.windows.byKey); got != 100 {
		t.Errorf("%d addresses held, want 100", got)
	}
	wantBlocked(t, f, "10.0.0.0", 0)        // the first was forgotten
	wantBlocked(t, f, "10.0.3.231", Window) // the last was not

	c.advance(Window)
	for range 100 {
		fail(f, "203.0.113.1", 1)
	}
	if got := len(f.windows.byKey); got != 1 {
		t.Errorf("%d addresses held after their windows ended, want 1", got)
	}
}

func TestFailuresParallel(t *testing.T) {
	t.Parallel()
	f := NewFailures(100, newClock().now)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for i := range 100 {
				fail(f, "198.51.100.7", 1)
				fail(f, fmt.Sprint("2001:db8:", i, "::1"), 1)
			}
		})
	}
	group.Wait()
	wantBlocked(t, f, "198.51.100.7", Window)
	wantBlocked(t, f, "2001:db8:5::1", 0)
}

func BenchmarkFailures(b *testing.B) {
	f := NewFailures(DefaultFailureLimit, time.Now)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f.Fail(b.Context(), "198.51.100.7")
		}
	})
}
