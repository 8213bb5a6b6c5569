package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pause"
)

const (
	feedInterval   = time.Second      // between two looks at the numbers, however many pages are open
	feedHeartbeat  = 20 * time.Second // finds connections that are dead and sessions that have ended
	feedLifetime   = 10 * time.Minute // then the browser reconnects
	feedWriteLimit = 10 * time.Second
	feedStale      = time.Minute // older numbers are not shown
	feedsPerPerson = 10          // streams of one session
)

// feed tells open pages that orders have moved. One look at the numbers of orders, which nothing has to count, serves
// all pages of a node; nobody looks while no page is open.
type feed struct {
	look func(context.Context, access.Environment) (map[order.Status]int64, error)
	log  *slog.Logger
	tell func() // tells other nodes of changes; nil: there are none

	every     time.Duration // between two looks
	heartbeat time.Duration

	mu       sync.Mutex
	counts   map[order.Status]int64
	lookedAt time.Time
	version  uint64                   // begins with the time, so that those of two nodes are different
	pages    map[chan struct{}]string // the session of each
	watching bool
	nudge    chan struct{}
	stop     chan struct{}
	stopOnce sync.Once
}

func newFeed(look func(context.Context, access.Environment) (map[order.Status]int64, error), log *slog.Logger) *feed {
	return &feed{
		look: look, log: log, pages: make(map[chan struct{}]string), nudge: make(chan struct{}, 1),
		stop: make(chan struct{}), heartbeat: feedHeartbeat, version: uint64(time.Now().UnixMicro()),
	}
}

// join adds a page of a session; its channel gets a signal after each change. It is nil for a session that has as many
// pages open as one may have.
func (f *feed) join(sessionID string) chan struct{} {
	c := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	open := 0
	for _, id := range f.pages {
		if id == sessionID {
			open++
		}
	}
	if open >= feedsPerPerson {
		return nil
	}
	f.pages[c] = sessionID
	if !f.watching {
		f.watching = true
		go f.watch()
	}
	return c
}

func (f *feed) leave(c chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pages, c)
}

// watch looks at the numbers until the last page has left.
func (f *feed) watch() {
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	nudged := false // until pages are told
	for {
		select {
		case <-f.stop:
			return
		case <-f.nudge:
			nudged = true
		case <-tick.C:
		}
		f.mu.Lock()
		if len(f.pages) == 0 {
			f.watching = false
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		begun := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), feedWriteLimit)
		counts, err := f.look(ctx, access.Live)
		cancel()
		if err != nil {
			f.log.Warn("the desk cannot read the numbers of orders", "error", err)
			continue
		}
		f.seen(counts, begun, nudged)
		nudged = false
	}
}

// seen keeps the numbers that a look has found and tells all pages when they have changed, or when something else is
// known to have. Numbers of a look that began before the last one are not kept.
func (f *feed) seen(counts map[order.Status]int64, begun time.Time, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if begun.Before(f.lookedAt) {
		counts = f.counts
	} else {
		f.lookedAt = begun
	}
	if maps.Equal(counts, f.counts) && !changed {
		return
	}
	f.counts = counts
	f.version++
	for c := range f.pages {
		pause.Signal(c)
	}
}

// changed makes the feeds of all nodes look at once: somebody has moved an order through this node.
func (f *feed) changed() {
	if f.tell != nil {
		f.tell()
	}
	f.lookNow()
}

// Changed makes open pages look for changes at once: orders have moved through another node.
func (d *Desk) Changed() { d.feed.lookNow() }

func (f *feed) lookNow() { pause.Signal(f.nudge) }

// last returns the numbers that were seen last; nil when nobody has looked for a while.
func (f *feed) last() map[order.Status]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.lookedAt) > feedStale {
		return nil
	}
	return f.counts
}

func (f *feed) state() (version uint64, counts map[order.Status]int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, f.counts
}

func (f *feed) close() { f.stopOnce.Do(func() { close(f.stop) }) }

// tooManyStreams is the refusal of a further stream to a session with many open ones.
var tooManyStreams = fault.New(fault.RateLimited, fault.CodeRateLimited,
	"This session has as many open streams as it may have.").After(feedHeartbeat)

// streamEvents sends the numbers of orders by status whenever something has changed, as server-sent events. It begins
// with the version that there is, by which a page knows whether it has missed something, and repeats it. It keeps
// nobody signed in, and ends with the session.
func (d *Desk) streamEvents(w http.ResponseWriter, r *http.Request, who *visitor) error {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return nil
	}
	signal := d.feed.join(who.Session.ID)
	if signal == nil {
		header.Del("Content-Type")
		return tooManyStreams
	}
	defer d.feed.leave(signal)
	out := http.NewResponseController(w)
	send := func(format string, args ...any) bool {
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && out.Flush() == nil
	}
	hello := func() bool {
		version, _ := d.feed.state()
		return send("retry: 3000\nevent: hello\ndata: %d\n\n", version)
	}
	if !hello() {
		return nil
	}
	heartbeat := time.NewTicker(d.feed.heartbeat)
	defer heartbeat.Stop()
	end := time.NewTimer(feedLifetime)
	defer end.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-d.feed.stop:
			return nil
		case <-end.C:
			return nil
		case <-heartbeat.C:
			if _, err := d.guard.Look(r); err != nil || !hello() {
				return nil // the browser reconnects and gets the events then
			}
		case <-signal:
			version, counts := d.feed.state()
			data, err := json.Marshal(counts)
			if err != nil || !send("id: %d\nevent: changed\ndata: %s\n\n", version, data) {
				return nil // the reader is gone
			}
		}
	}
}
