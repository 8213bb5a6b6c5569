// Package deliver sends webhooks. The queue is in the database: the transaction that moved an order has put the
// deliveries there. A sender reads those that are due, makes the attempts, and writes down how they went, which
// takes a delivery out of the queue or puts it further back. So every event is sent at least once, and twice only
// when a crash, or a database out of reach, kept a result from being written down.
//
// Where several nodes work on one database, each endpoint's queue is leased to one of them. What a crashed node had
// comes to others when its leases end.
package deliver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
	"github.com/prometheus/client_golang/prometheus"
)

// Config is what a sender works with.
type Config struct {
	Store    *store.Store
	Secrets  *secret.Box
	Guard    *netguard.Guard // decides which addresses are called
	RootCAs  *x509.CertPool  // trusted for destinations; nil: those of the system
	Schedule webhook.Schedule
	Timeout  time.Duration // of a whole attempt, the access token included
	InFlight int           // the most attempts at a time on this node; 0: DefaultInFlight
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  prometheus.Registerer // nil: none are kept
	Jitter   func() float64        // in [0,1); nil: random
}

// DefaultInFlight is meant to be more than enough: an attempt that waits for an answer costs little, and endpoints that
// hang must leave room for the others.
const DefaultInFlight = 512

// Sender sends what is due. It is a worker.
type Sender struct {
	Config
	node    string // names this sender to others
	courier courier
	metrics *metrics
	woken   chan struct{}
	tell    chan struct{}

	presence    presence
	poll, grace time.Duration
}

// New returns a sender; Run sets it to work.
func New(c Config) *Sender {
	if c.InFlight <= 0 {
		c.InFlight = DefaultInFlight
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	s := &Sender{
		Config: c,
		node:   store.NewID(),
		woken:  make(chan struct{}, 1),
		tell:   make(chan struct{}, 1),
		poll:   pollInterval,
		grace:  stopGrace,
	}
	client := c.Guard.Client(&tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}, 0)
	if transport, ok := client.Transport.(*http.Transport); ok {
		// Endpoints may share a host; a connection for each attempt in flight is worth keeping. Each attempt has one to
		// itself, with HTTP/1.1: a connection that breaks fails one attempt, and it costs less than sharing one.
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = c.InFlight, c.InFlight
		transport.Protocols, transport.ForceAttemptHTTP2 = new(http.Protocols), false
		transport.Protocols.SetHTTP1(true)
		client.Transport = named{transport}
	}
	s.courier = courier{
		client:  client,
		tokens:  newTokens(client, c.Timeout, c.Now),
		secrets: c.Secrets,
		timeout: c.Timeout,
		now:     c.Now,
	}
	m, collectors := newMetrics(&queueState{store: c.Store, now: c.Now})
	s.metrics = m
	if c.Metrics != nil {
		c.Metrics.MustRegister(collectors...)
	}
	return s
}

// LoadCAs returns the CAs of the system together with those in a PEM file.
func LoadCAs(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pem, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", file)
	}
	return pool, nil
}

// Name names the worker.
func (s *Sender) Name() string { return "webhooks" }

// Wake tells the sender, and those of other nodes, that deliveries were queued. It never waits.
func (s *Sender) Wake() {
	notify(s.woken)
	notify(s.tell)
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will look anyway
	}
}

// Run sends until ctx ends. Then it begins nothing more, lets running attempts finish for up to 9 seconds, cuts off
// those that do not, and returns nil. A database out of reach is waited for.
func (s *Sender) Run(ctx context.Context) error {
	if !s.Store.Shared() {
		newLoop(s).run(ctx)
		return nil
	}
	// A stopping sender is at work until its attempts are over.
	attending, leave := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	for _, helper := range []func(context.Context){s.attend, s.listen, s.announce} {
		helpers.Go(func() { helper(attending) })
	}
	newLoop(s).run(ctx)
	leave()
	helpers.Wait()
	s.leave(ctx)
	return nil
}

const (
	announceInterval = 20 * time.Millisecond // between announcements, however much is queued
	listenPause      = time.Second           // before a broken connection is made again
)

// announce passes Wake on to the senders of other nodes.
func (s *Sender) announce(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.tell:
		}
		if err := s.Store.AnnounceDeliveries(ctx, s.node); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "other nodes could not be told of deliveries", "error", err)
		}
		sleep(ctx, announceInterval)
	}
}

// listen wakes the sender when another node has queued deliveries.
func (s *Sender) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.Store.ListenDeliveries(ctx, func(from string) {
			if from != s.node {
				notify(s.woken)
			}
		})
		if ctx.Err() == nil {
			s.Log.WarnContext(ctx, "the connection that listens for deliveries broke", "error", err)
			sleep(ctx, listenPause)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// errStopped is the cause of attempts that a stopping sender cut off.
var errStopped = errors.New("the sender was stopped")
