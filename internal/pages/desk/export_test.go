package desk

import "time"

// SetHeartbeat sets how often streams that are opened from then on look whether their session is still there.
func (d *Desk) SetHeartbeat(every time.Duration) { d.feed.heartbeat = every }
