package db

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// listenerQueue is how many announcements wait for a listener. Further ones are dropped: polling makes up for it.
const listenerQueue = 1024

// listenerHub is the one connection of a node that receives announcements, for all its listeners. It is open while
// there is a listener; when it breaks, Listen returns to all of them, and the first to listen again opens another.
type listenerHub struct {
	mu        sync.Mutex
	listeners map[*listener]bool
	connected bool
	close     context.CancelFunc
}

type listener struct {
	channel  string
	messages chan string
	ended    chan error
}

// Listen calls receive for each message on a channel, and once with none when it begins to listen. It returns when ctx
// ends or the connection breaks, never nil.
func (d *DB) Listen(ctx context.Context, channel string, receive func(message string)) error {
	if !d.Shared() {
		<-ctx.Done()
		return ctx.Err()
	}
	l := &listener{channel: channel, messages: make(chan string, listenerQueue), ended: make(chan error, 1)}
	d.listeners.join(l, d.receiveAnnouncements)
	defer d.listeners.leave(l)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-l.ended:
			return err
		case message := <-l.messages:
			receive(message)
		}
	}
}

// Announce sends a message to the listeners of a channel on every node. On SQLite there are none.
func (d *DB) Announce(ctx context.Context, channel, message string) error {
	if !d.Shared() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, err := d.sql.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, message)
	return Classify(err)
}

func (h *listenerHub) join(l *listener, receive func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = make(map[*listener]bool)
	}
	h.listeners[l] = true
	if h.connected {
		l.messages <- ""
	}
	if h.close != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	h.close = stop
	go func() {
		defer stop()
		err := receive(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		for l := range h.listeners {
			l.ended <- err
		}
		h.listeners, h.close, h.connected = nil, nil, false
	}()
}

// leave closes the connection when nobody listens any more.
func (h *listenerHub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.listeners[l] {
		return
	}
	delete(h.listeners, l)
	if len(h.listeners) == 0 && h.close != nil {
		h.close()
	}
}

// dispatch gives a message to the listeners of a channel, or, where it is empty, of all channels.
func (h *listenerHub) dispatch(channel, message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connected = true
	for l := range h.listeners {
		if channel != "" && channel != l.channel {
			continue
		}
		select {
		case l.messages <- message:
		default:
		}
	}
}

// receiveAnnouncements listens to all channels until ctx ends or the connection breaks.
func (d *DB) receiveAnnouncements(ctx context.Context) error {
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
	d.listeners.dispatch("", "")
	for {
		channel, message, err := nextNotification(ctx, c)
		if err != nil {
			return Classify(err)
		}
		if message != "" {
			d.listeners.dispatch(channel, message)
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
