package imaging

import "time"

// MaxRunningOfAccount is maxRunningOfAccount for tests from outside.
const MaxRunningOfAccount = maxRunningOfAccount

// Decoding returns how many photos of an account are decoded in this process or wait for that.
func (c *Cache) Decoding(account string) int {
	c.cores.mu.Lock()
	defer c.cores.mu.Unlock()
	return c.cores.taken[account] + len(c.cores.queue[account])
}

// Limit sets how long this process decodes a photo.
func (c *Cache) Limit(limit time.Duration) { c.limit = limit }
