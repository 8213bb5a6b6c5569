package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// clients are the connections of a load, all served by one thread: a goroutine for each would have to be put to sleep
// and woken for each answer, which takes CPU time from the servers to be compared.
type clients struct {
	of        *target
	epoll     int
	all       []*loadClient
	until     time.Time
	waiting   int // clients with a request under way
	latencies []time.Duration
}

// loadClient sends its next request after the answer to the last.
type loadClient struct {
	fd       int
	index    int // of the client
	next     int // index of its next request
	text     []byte
	unsent   []byte // of text
	want     []byte // what the answer has to be, or to contain
	whole    bool   // want is all of the answer
	received []byte // of the answer
	sent     time.Time
}

// answerTimeout is how long there may be no answer on any connection.
const answerTimeout = 30 * time.Second

// run sends requests over so many connections until ctx ends, and waits for the answers to the last ones.
func (t *target) run(ctx context.Context, count int) (latencies []time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &clients{of: t}
	if c.until, _ = ctx.Deadline(); c.until.IsZero() {
		return nil, errors.New("a load without an end")
	}
	if c.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for n := range count {
		if err := c.connect(n * len(t.requests) / count); err != nil {
			return nil, err
		}
	}
	for _, one := range c.all {
		if err := c.send(one, time.Now()); err != nil {
			return nil, err
		}
	}
	err = c.serve(ctx)
	return c.latencies, err
}

// connect opens a connection whose first request is the one with the index.
func (c *clients) connect(first int) error {
	address, err := netip.ParseAddrPort(c.of.address)
	if err != nil {
		return err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	one := &loadClient{fd: fd, index: len(c.all), next: first, received: make([]byte, 0, 16<<10)}
	c.all = append(c.all, one)
	return errors.Join(
		os.NewSyscallError("connect", syscall.Connect(fd, &syscall.SockaddrInet4{
			Port: int(address.Port()), Addr: address.Addr().As4(),
		})),
		os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)),
		os.NewSyscallError("fcntl", syscall.SetNonblock(fd, true)),
		c.watch(syscall.EPOLL_CTL_ADD, one, syscall.EPOLLIN),
	)
}

func (c *clients) watch(operation int, one *loadClient, events uint32) error {
	event := syscall.EpollEvent{Events: events, Fd: int32(one.index)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(c.epoll, operation, one.fd, &event))
}

func (c *clients) close() error {
	err := syscall.Close(c.epoll)
	for _, one := range c.all {
		err = errors.Join(err, syscall.Close(one.fd))
	}
	return err
}

// send sends the next request of a client.
func (c *clients) send(one *loadClient, now time.Time) error {
	request := &c.of.requests[one.next%len(c.of.requests)]
	one.next++
	var its string
	one.text, its = request.fresh(one.text)
	if one.want, one.whole = request.want, request.want != nil; its != "" {
		one.want, one.whole = []byte(its), false
	}
	one.unsent, one.received, one.sent = one.text, one.received[:0], now
	c.waiting++
	return c.goOn(one)
}

// goOn sends what the kernel takes of a request.
func (c *clients) goOn(one *loadClient) error {
	for len(one.unsent) > 0 {
		n, err := syscall.Write(one.fd, one.unsent)
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return c.watch(syscall.EPOLL_CTL_MOD, one, syscall.EPOLLIN|syscall.EPOLLOUT)
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return os.NewSyscallError("write", err)
		default:
			one.unsent = one.unsent[n:]
		}
	}
	return nil
}

// serve answers what the kernel tells of the connections until no client has a request under way.
func (c *clients) serve(ctx context.Context) error {
	events := make([]syscall.EpollEvent, len(c.all))
	for c.waiting > 0 {
		n, err := syscall.EpollWait(c.epoll, events, int(answerTimeout.Milliseconds()))
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("epoll_wait", err)
		}
		if err == nil && n == 0 {
			return fmt.Errorf("no answer for %s", answerTimeout)
		}
		for _, event := range events[:max(n, 0)] {
			one := c.all[event.Fd]
			if event.Events&syscall.EPOLLOUT != 0 {
				if err := errors.Join(c.watch(syscall.EPOLL_CTL_MOD, one, syscall.EPOLLIN), c.goOn(one)); err != nil {
					return err
				}
			}
			if event.Events&^syscall.EPOLLOUT != 0 {
				if err := c.receive(ctx, one); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// receive reads what has come of an answer, and sends the next request when it is complete.
func (c *clients) receive(ctx context.Context, one *loadClient) error {
	if len(one.received) == cap(one.received) {
		one.received = slices.Grow(one.received, cap(one.received))
	}
	n, err := syscall.Read(one.fd, one.received[len(one.received):cap(one.received)])
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return nil
	case err != nil:
		return os.NewSyscallError("read", err)
	case n == 0:
		return fmt.Errorf("%s: %w", firstLine(one.text), io.ErrUnexpectedEOF)
	}
	one.received = one.received[:len(one.received)+n]
	head := bytes.Index(one.received, endOfHead)
	if head < 0 {
		return nil
	}
	status, length, err := readHead(one.received[:head])
	if err != nil {
		return err
	}
	body := one.received[head+len(endOfHead):]
	if len(body) < length {
		return nil
	}
	now := time.Now()
	right := bytes.Contains
	if one.whole {
		right = bytes.Equal
	}
	if status != c.of.status || len(body) > length || len(one.unsent) > 0 || !right(body, one.want) {
		return fmt.Errorf("%s: status %d, want %d with %s, got %s", firstLine(one.text), status, c.of.status, one.want, body)
	}
	c.waiting--
	c.latencies = append(c.latencies, now.Sub(one.sent))
	if !now.Before(c.until) || ctx.Err() != nil {
		return c.watch(syscall.EPOLL_CTL_DEL, one, 0)
	}
	return c.send(one, now)
}
