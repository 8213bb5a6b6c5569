package db

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// heardQueue is how many announcements wait for a listener. What is more is not heard: polling makes up for it.
const heardQueue = 1024

// ears is the one connection of a node that listens for announcements, for all who want to hear some. It is there while
// somebody listens; when it breaks, all of them are told, and the first to listen again opens another.
type ears struct {
	mu        sync.Mutex
	listeners map[*listener]bool
	hears     bool // it is connected
	close     context.CancelFunc
}

type listener struct {
	channel string
	heard   chan string
	ended   chan error
}

// Listen calls heard for each message on a channel, and once with none when it begins to listen. It returns when ctx
// ends or the connection breaks, never nil.
func (d *DB) Listen(ctx context.Context, channel string, heard func(message string)) error {
	if !d.Shared() {
		<-ctx.Done()
		return ctx.Err()
	}
	l := &listener{channel: channel, heard: make(chan string, heardQueue), ended: make(chan error, 1)}
	d.ears.join(l, d.hear)
	defer d.ears.leave(l)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-l.ended:
			return err
		case message := <-l.heard:
			heard(message)
		}
	}
}

// Announce tells a message to all who listen on a channel, on any node. On SQLite there is nobody to tell.
func (d *DB) Announce(ctx context.Context, channel, message string) error {
	if !d.Shared() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, err := d.sql.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, message)
	return Classify(err)
}

func (e *ears) join(l *listener, hear func(context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listeners == nil {
		e.listeners = make(map[*listener]bool)
	}
	e.listeners[l] = true
	if e.hears {
		l.heard <- ""
	}
	if e.close != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	e.close = stop
	go func() {
		defer stop()
		err := hear(ctx)
		e.mu.Lock()
		defer e.mu.Unlock()
		for l := range e.listeners {
			l.ended <- err
		}
		e.listeners, e.close, e.hears = nil, nil, false
	}()
}

// leave closes the connection when nobody listens any more.
func (e *ears) leave(l *listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.listeners[l] {
		return
	}
	delete(e.listeners, l)
	if len(e.listeners) == 0 && e.close != nil {
		e.close()
	}
}

// tell gives a message to who listens to the channel; the empty channel is all.
func (e *ears) tell(channel, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hears = true
	for l := range e.listeners {
		if channel != "" && channel != l.channel {
			continue
		}
		select {
		case l.heard <- message:
		default:
		}
	}
}

// hear listens to all channels until ctx ends or the connection breaks.
func (d *DB) hear(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return errors.New("connect to PostgreSQL to listen for announcements") // the cause may hold the password
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
		defer cancel()
		_ = c.Close(closing)
	}()
	beginning, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, channel := range d.Channels {
		if _, err := c.Exec(beginning, "LISTEN "+channel); err != nil {
			return Classify(err)
		}
	}
	d.ears.tell("", "")
	for {
		channel, message, err := nextNotification(ctx, c)
		if err != nil {
			return Classify(err)
		}
		if message != "" {
			d.ears.tell(channel, message)
		}
	}
}

// listenCheck is after how much silence the connection that listens is checked.
const listenCheck = 10 * time.Second

// nextNotification returns the next announcement, or, after a silence in which the connection still answers, nothing.
func nextNotification(ctx context.Context, c *pgx.Conn) (channel, message string, err error) {
	waiting, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	n, err := c.WaitForNotification(waiting)
	if err == nil {
		return n.Channel, n.Payload, nil
	}
	if ctx.Err() != nil || waiting.Err() == nil {
		return "", "", err
	}
	checking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return "", "", c.Ping(checking)
}
