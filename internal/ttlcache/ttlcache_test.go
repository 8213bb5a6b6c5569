package ttlcache_test

import (
	"errors"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/ttlcache"
)

func TestNewWeighted(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	c := ttlcache.NewWeighted[string](time.Minute, 10, func(s string) int { return len(s) })
	kept := func(keys string) {
		t.Helper()
		found := ""
		for _, key := range []string{"a", "b", "c"} {
			if _, ok := c.Get(key, now); ok {
				found += key
			}
		}
		if found != keys {
			t.Errorf("kept: %q, not %q", found, keys)
		}
	}
	c.Put("a", "12345", now)
	c.Put("b", "12345", now)
	kept("ab")
	c.Put("b", "1234", now) // in place of the one before
	c.Put("c", "1", now)
	kept("abc")
	c.Put("a", "123456", now)
	kept("a")
	c.Put("a", "12345678901", now) // larger than all
	kept("")
	c.Put("a", "1234567890", now)
	kept("a")
	c.Clear()
	c.Put("b", "1234567890", now)
	kept("b")
}

// TestLoad checks that a value is read once in its life, however often it is used, and that nothing that was read
// before a Clear is there after it.
func TestLoad(t *testing.T) {
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	c := ttlcache.New[string, int](time.Minute, 10)
	reads := 0
	load := func(at time.Duration, meanwhile func()) int {
		t.Helper()
		v, err := c.Load("a", start.Add(at), func() (int, error) {
			reads++
			read := reads
			meanwhile()
			return read, nil
		})
		if err != nil {
			t.Error(err)
		}
		return v
	}
	nothing := func() {}
	for _, step := range []struct {
		at        time.Duration
		meanwhile func()
		want      int
	}{
		{0, nothing, 1},
		{59 * time.Second, nothing, 1},
		{61 * time.Second, nothing, 2},
		{121 * time.Second, c.Clear, 3},
		{121 * time.Second, nothing, 4},
		{121 * time.Second, nothing, 4},
	} {
		if got := load(step.at, step.meanwhile); got != step.want {
			t.Errorf("at %v: read %d, want %d", step.at, got, step.want)
		}
	}
	c.Remove("a")
	failed := errors.New("failed")
	if _, err := c.Load("a", start, func() (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	if v, ok := c.Get("a", start); ok {
		t.Errorf("%d is there, which was not read", v)
	}
}
