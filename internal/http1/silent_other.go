//go:build !unix

package http1

import "time"

// quietFor is how long servers are expected to keep a connection open that is idle.
const quietFor = time.Second

// quiet cannot be seen here, only supposed.
func (c *conn) quiet() bool { return time.Since(c.idleSince) < quietFor }
