package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// readDeadline is the deadline for the reads of a connection. It is given to the connection only where a read could
// outlast it: net/http sets and takes back three for every request, and mostly nothing is read under them.
type readDeadline struct {
	conn net.Conn

	mu     sync.Mutex
	wanted time.Time // zero: none
	set    time.Time // the one that the connection has, which may be too early; zero: none
	reads  int       // under way
}

// SetReadDeadline ends the reads that are under way then, and those that begin later.
func (d *readDeadline) SetReadDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if d.reads > 0 && d.late() {
		return d.forward()
	}
	return nil
}

// late says whether the connection would read for longer than is wanted.
func (d *readDeadline) late() bool {
	return !d.wanted.IsZero() && (d.set.IsZero() || d.wanted.Before(d.set))
}

// forward gives the deadline to the connection.
func (d *readDeadline) forward() error {
	d.set = d.wanted
	return d.conn.SetReadDeadline(d.wanted)
}

// Read reads until the deadline. Where that of the connection is too early, it is set anew when it has passed.
func (d *readDeadline) Read(p []byte) (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if longAgo(d.wanted) {
		return 0, os.ErrDeadlineExceeded
	}
	for anew := d.late() || longAgo(d.set); ; anew = true {
		if anew {
			if err := d.forward(); err != nil {
				return 0, err
			}
		}
		if n, err = d.read(p); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || d.passed() {
			return n, err
		}
	}
}

// read reads once, while the deadline can be changed.
func (d *readDeadline) read(p []byte) (int, error) {
	d.reads++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.reads--
	}()
	return d.conn.Read(p)
}

// longAgo says whether a deadline is one that ends a read at once, as net/http sets it, without a look at the clock.
func longAgo(t time.Time) bool { return !t.IsZero() && t.Before(epoch) }

func (d *readDeadline) passed() bool { return !d.wanted.IsZero() && !time.Now().Before(d.wanted) }
