//go:build !unix

package http1

// silent cannot be told here without reading.
func (c *conn) silent() bool { return false }
