//go:build unix

package http1

import (
	"errors"

	"golang.org/x/sys/unix"
)

// quiet reports whether an idle connection is open and has nothing to read: what a server sends that was not asked is
// the end, or not to be understood. It may take a byte of that.
func (c *conn) quiet() bool {
	return c.socket == nil || c.socket.Read(c.look) == nil && errors.Is(c.looked, unix.EAGAIN)
}

// look is what quiet does with the descriptor of the connection, which does not block.
func (c *conn) look(fd uintptr) (done bool) {
	_, c.looked = unix.Read(int(fd), c.taken[:])
	return true
}
