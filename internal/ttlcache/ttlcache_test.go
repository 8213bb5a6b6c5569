package ttlcache_test

import (
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
