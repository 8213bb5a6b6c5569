package server

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// countedConn counts how often its deadline is set, and tells when.
type countedConn struct {
	net.Conn
	set  int
	told chan time.Time // nil: nobody listens
}

func (c *countedConn) SetReadDeadline(t time.Time) error {
	c.set++
	err := c.Conn.SetReadDeadline(t)
	if c.told != nil {
		c.told <- t
	}
	return err
}

func readDeadlinePair(t *testing.T) (client net.Conn, counted *countedConn, d *readDeadline) {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	counted = &countedConn{Conn: server}
	return client, counted, &readDeadline{conn: counted}
}

// The deadlines as net/http sets them.
var (
	noDeadline time.Time
	aborted    = time.Unix(1, 0)
)

// TestReadDeadline_Requests follows the deadlines of requests over one connection.
func TestReadDeadline_Requests(t *testing.T) {
	t.Parallel()
	client, counted, d := readDeadlinePair(t)
	buffer := make([]byte, 16)
	for range 5 {
		_ = d.SetReadDeadline(time.Now().Add(time.Hour)) // until the next request
		go func() { _, _ = client.Write([]byte("GET /")) }()
		if n, err := d.Read(buffer); n != 5 || err != nil {
			t.Fatalf("read %d, %v", n, err)
		}
		_ = d.SetReadDeadline(noDeadline)
		_ = d.SetReadDeadline(time.Now().Add(time.Minute)) // for the header
		_ = d.SetReadDeadline(noDeadline)
		_ = d.SetReadDeadline(aborted) // the read for the end of the connection, which may not have begun
		var timeout net.Error
		if n, err := d.Read(buffer[:1]); n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Fatalf("read %d, %v", n, err)
		}
		_ = d.SetReadDeadline(noDeadline)
	}
	if counted.set != 1 {
		t.Errorf("the deadline was set %d times, want once", counted.set)
	}
}

// TestReadDeadline_DuringRead changes the deadline of a read that is under way.
func TestReadDeadline_DuringRead(t *testing.T) {
	t.Parallel()
	client, counted, d := readDeadlinePair(t)
	counted.told = make(chan time.Time, 8)
	type result struct {
		n   int
		err error
	}
	read := func() <-chan result {
		ended := make(chan result, 1)
		go func() {
			n, err := d.Read(make([]byte, 16))
			ended <- result{n, err}
		}()
		return ended
	}
	wantTimeout := func(when string, r result) {
		t.Helper()
		if r.n != 0 || !errors.Is(r.err, os.ErrDeadlineExceeded) {
			t.Fatalf("%s: read %d, %v", when, r.n, r.err)
		}
	}
	untilReading := func() {
		for reads := 0; reads == 0; {
			d.mu.Lock()
			reads = d.reads
			d.mu.Unlock()
		}
	}

	ended := read() // without a deadline
	untilReading()
	_ = d.SetReadDeadline(aborted)
	wantTimeout("one that is aborted", <-ended)
	<-counted.told

	_ = d.SetReadDeadline(noDeadline)
	ended = read()
	if at := <-counted.told; !at.IsZero() { // what was aborted is taken back
		t.Fatalf("the deadline is %v", at)
	}
	soon, later := time.Now().Add(20*time.Millisecond), time.Now().Add(time.Hour)
	untilReading()
	_ = d.SetReadDeadline(soon)
	_ = d.SetReadDeadline(later)
	if at := <-counted.told; !at.Equal(soon) {
		t.Fatalf("the deadline is %v, want %v", at, soon)
	}
	if at := <-counted.told; !at.Equal(later) { // when the earlier one has passed
		t.Fatalf("the deadline is %v, want %v", at, later)
	}
	_, _ = client.Write([]byte("in time"))
	if r := <-ended; r.n != len("in time") || r.err != nil {
		t.Fatalf("one with more time: read %d, %v", r.n, r.err)
	}

	at := time.Now().Add(20 * time.Millisecond)
	_ = d.SetReadDeadline(at)
	wantTimeout("one that nothing comes for", <-read())
	if time.Now().Before(at) {
		t.Error("the read has ended too early")
	}
	_ = counted.Close()
	_ = d.SetReadDeadline(noDeadline)
	if n, err := d.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d of a closed connection, %v", n, err)
	}
}
