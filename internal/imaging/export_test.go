package imaging

import "time"

// MaxRunningOfAccount is maxRunningOfAccount for tests from outside.
const MaxRunningOfAccount = maxRunningOfAccount

// Limit sets how long this process decodes a photo.
func (c *Cache) Limit(limit time.Duration) { c.limit = limit }
