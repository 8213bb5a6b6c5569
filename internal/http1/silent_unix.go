//go:build unix

package http1

import (
	"errors"

	"golang.org/x/sys/unix"
)

// silent reports whether nothing has arrived from the server since the connection was read, not even its end.
func (c *conn) silent() bool {
	return c.socket == nil || c.socket.Read(c.look) == nil && errors.Is(c.looked, unix.EAGAIN)
}

// look is what silent does with the descriptor of the connection, which does not block.
func (c *conn) look(fd uintptr) (done bool) {
	_, _, c.looked = unix.Recvfrom(int(fd), c.seen[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return true
}
