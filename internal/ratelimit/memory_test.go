package ratelimit

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var _ Limiter = (*Memory)(nil)

func take(t *testing.T, l Limiter, key, category string, limit int) Decision {
	t.Helper()
	d, err := l.Take(t.Context(), key, category, limit)
	if err != nil {
		t.Fatal(err)
	}
	if d.Allowed != (d.RetryAfter == 0) || d.RetryAfter < 0 || d.RetryAfter > Window {
		t.Fatalf("%+v: retry after must be within (0, %v] exactly when refused", d, Window)
	}
	return d
}

func newMemory() (*clock, *Memory) {
	c := newClock()
	return c, NewMemory(c.now)
}

// spentMemory has counted a request of the key, which is all that a limit of 1 allows.
func spentMemory(t *testing.T) (*clock, *Memory) {
	t.Helper()
	c, m := newMemory()
	take(t, m, "key", Read, 1)
	return c, m
}

// held returns the number of windows in memory.
func (m *Memory) held() int {
	n := 0
	for i := range m.shards {
		shard := &m.shards[i]
		shard.mu.Lock()
		n += len(shard.windows.byKey)
		shard.mu.Unlock()
	}
	return n
}

func want(t *testing.T, got, want Decision) {
	t.Helper()
	if got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

func TestDefaultLimit(t *testing.T) {
	limits := map[string]int{"catalog": 120, "read": 300, "create": 30, "update": 30, "upload": 20, "webhook": 10}
	if len(Categories) != len(limits) {
		t.Errorf("Categories = %v", Categories)
	}
	for _, category := range Categories {
		if got := DefaultLimit(category); got != limits[category] {
			t.Errorf("DefaultLimit(%s) = %d, want %d", category, got, limits[category])
		}
	}
	if got := DefaultLimit("nothing"); got != 0 {
		t.Errorf("DefaultLimit of an unknown category = %d", got)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()

	t.Run("CountsDownThenRefuses", func(t *testing.T) {
		t.Parallel()
		m := NewMemory(newClock().now)
		for left := 2; left >= 0; left-- {
			want(t, take(t, m, "key", Read, 3), Decision{Allowed: true, Limit: 3, Remaining: left})
		}
		want(t, take(t, m, "key", Read, 3), Decision{Limit: 3, RetryAfter: Window})
	})

	t.Run("WindowStartsAtFirstRequest", func(t *testing.T) {
		t.Parallel()
		c, m := newMemory()
		c.advance(45 * time.Second) // irrelevant: nothing was counted
		take(t, m, "key", Read, 1)
		c.advance(Window - time.Nanosecond)
		want(t, take(t, m, "key", Read, 1), Decision{Limit: 1, RetryAfter: time.Nanosecond})
		c.advance(time.Nanosecond)
		want(t, take(t, m, "key", Read, 1), Decision{Allowed: true, Limit: 1})
	})

	t.Run("RefusalsDoNotExtend", func(t *testing.T) {
		t.Parallel()
		c, m := spentMemory(t)
		for i := range 59 {
			c.advance(time.Second)
			want(t, take(t, m, "key", Read, 1), Decision{Limit: 1, RetryAfter: Window - time.Duration(i+1)*time.Second})
		}
		c.advance(time.Second)
		want(t, take(t, m, "key", Read, 1), Decision{Allowed: true, Limit: 1})
	})

	t.Run("NewWindowStartsAtItsOwnFirstRequest", func(t *testing.T) {
		t.Parallel()
		c, m := spentMemory(t)
		c.advance(100 * time.Second)
		take(t, m, "key", Read, 1)
		c.advance(30 * time.Second)
		want(t, take(t, m, "key", Read, 1), Decision{Limit: 1, RetryAfter: 30 * time.Second})
	})

	t.Run("KeysAndCategoriesAreApart", func(t *testing.T) {
		t.Parallel()
		m := NewMemory(newClock().now)
		take(t, m, "key", Read, 1)
		for _, other := range []Quota{{"key", Create}, {"other", Read}, {"", Read}, {"keyr", "ead"}} {
			want(t, take(t, m, other.Key, other.Category, 1), Decision{Allowed: true, Limit: 1})
		}
	})

	t.Run("LimitChangesWithinTheWindow", func(t *testing.T) {
		t.Parallel()
		m := NewMemory(newClock().now)
		for range 5 {
			take(t, m, "key", Read, 5)
		}
		want(t, take(t, m, "key", Read, 7), Decision{Allowed: true, Limit: 7, Remaining: 1})
		want(t, take(t, m, "key", Read, 3), Decision{Limit: 3, RetryAfter: Window})
	})

	t.Run("LimitBelowOneRefuses", func(t *testing.T) {
		t.Parallel()
		m := NewMemory(newClock().now)
		for _, limit := range []int{0, -1} {
			want(t, take(t, m, "key", Read, limit), Decision{RetryAfter: Window})
		}
		if m.held() != 0 {
			t.Error("a request that can never be counted left a window")
		}
	})

	t.Run("ClockSetBack", func(t *testing.T) {
		t.Parallel()
		c, m := spentMemory(t)
		c.advance(-time.Hour)
		want(t, take(t, m, "key", Read, 1), Decision{Allowed: true, Limit: 1})
		want(t, take(t, m, "key", Read, 1), Decision{Limit: 1, RetryAfter: Window})
	})
}

func TestMemoryForgetsExpired(t *testing.T) {
	t.Parallel()
	const keys = 10_000
	c := newClock()
	m := NewMemory(c.now)
	for i := range keys {
		take(t, m, strconv.Itoa(i), Read, 10)
	}
	if got := m.held(); got != keys {
		t.Fatalf("%d windows held, want %d", got, keys)
	}
	c.advance(Window)
	// Requests from a tenth of the keys: the windows of the others must be removed meanwhile. Where a key belongs is
	// random, so each comes often enough for a part that has but one of them.
	for i := range 10 * keys {
		take(t, m, "again-"+strconv.Itoa(i%(keys/10)), Read, 1000)
	}
	if got := m.held(); got != keys/10 {
		t.Errorf("%d windows held, want %d", got, keys/10)
	}
}

func TestMemoryParallel(t *testing.T) {
	t.Parallel()
	const workers, each, limit = 16, 200, 1000
	m := NewMemory(newClock().now)
	var allowed [3]atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range each {
				d, err := m.Take(context.Background(), fmt.Sprint("key-", i%3), Create, limit)
				if err == nil && d.Allowed {
					allowed[i%3].Add(1)
				}
			}
		})
	}
	group.Wait()
	for i := range allowed {
		if got := allowed[i].Load(); got != limit {
			t.Errorf("key %d: %d requests allowed, want exactly %d", i, got, limit)
		}
	}
}

func TestMemoryAllocations(t *testing.T) {
	m := NewMemory(time.Now)
	ctx := t.Context()
	if got := testing.AllocsPerRun(1000, func() { _, _ = m.Take(ctx, "key", Read, 10) }); got != 0 {
		t.Errorf("a request within a window allocates %v times, want none", got)
	}
}

func BenchmarkMemory(b *testing.B) {
	for _, keys := range []int{1, 100, 100_000} {
		b.Run(fmt.Sprintf("Keys%d", keys), func(b *testing.B) {
			m := NewMemory(time.Now)
			names := make([]string, keys)
			for i := range names {
				names[i] = fmt.Sprintf("0190a5c0-0000-7000-8000-%012d", i)
			}
			var worker atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				i := int(worker.Add(7919))
				for pb.Next() {
					i++
					_, _ = m.Take(context.Background(), names[i%keys], Read, 300)
				}
			})
		})
	}
}

// TestUses checks that reading usage does not count.
func TestUses(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := NewMemory(c.now)
	quotas := []Quota{{"key", Read}, {"key", Create}, {"other", Read}}
	uses := func() []Use {
		t.Helper()
		uses, err := m.Uses(t.Context(), quotas)
		if err != nil || len(uses) != len(quotas) {
			t.Fatal(uses, err)
		}
		return uses
	}
	if got := uses(); got[0] != (Use{}) || m.held() != 0 {
		t.Errorf("unused: %+v, %d windows", got, m.held())
	}
	take(t, m, "key", Read, 3)
	take(t, m, "key", Read, 3)
	take(t, m, "other", Read, 9)
	c.advance(20 * time.Second)
	take(t, m, "key", Create, 1)
	take(t, m, "key", Create, 1) // refused, and not counted
	for range 3 {
		got := uses()
		if got[0] != (Use{2, 40 * time.Second}) || got[1] != (Use{1, Window}) || got[2] != (Use{1, 40 * time.Second}) {
			t.Errorf("%+v", got)
		}
	}
	want(t, take(t, m, "key", Read, 3), Decision{Allowed: true, Limit: 3})
	c.advance(40 * time.Second)
	if got := uses(); got[0] != (Use{}) || got[1] != (Use{1, 20 * time.Second}) {
		t.Errorf("after the window: %+v", got)
	}
}
