package deliver

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/pause"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/worker/liveness"
)

// Config configures a Sender.
type Config struct {
	Store    *store.Store
	Secrets  *secret.Box
	Guard    *netguard.Guard // decides which addresses may be called
	RootCAs  *x509.CertPool  // trusted for destinations; nil: those of the system
	Schedule webhook.Schedule
	Timeout  time.Duration // of an attempt, and before it of fetching an access token
	InFlight int           // maximum concurrent attempts on this node; 0: DefaultInFlight
	Now      func() time.Time

	// SharedNow is the clock that the senders of all nodes share, for presence and leases; nil: Now.
	SharedNow func(*store.Tx) (time.Time, error)

	// FirstDelay is how long a delivery may wait for its first attempt. What is due later than that and the schedule
	// allow is due at once.
	FirstDelay time.Duration

	// Poll is the time between looks for deliveries that nobody has announced; 0: a second.
	Poll time.Duration

	Log     *slog.Logger
	Metrics prometheus.Registerer // nil: not registered
	Jitter  func() float64        // in [0,1); nil: random
}

// longest is how long an attempt can take: a token is fetched, then the delivery is sent.
func (c *Config) longest() time.Duration { return 2 * c.Timeout }

// DefaultInFlight is generous: a waiting attempt is cheap, and endpoints that hang must leave room for others.
const DefaultInFlight = 512

// Sender sends due deliveries. It is a worker.
type Sender struct {
	Config
	node      string // id of this sender
	http      httpSender
	metrics   *metrics
	wake      chan struct{}
	announcer *Announcer
	forgotten atomic.Int64 // how often ForgetEndpoints was called

	done        *liveness.Mark
	rounds      liveness.Rounds
	presence    presence
	poll, grace time.Duration
}

// New returns a sender; Run starts it.
func New(c Config) *Sender {
	if c.InFlight <= 0 {
		c.InFlight = DefaultInFlight
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.SharedNow == nil {
		c.SharedNow = func(*store.Tx) (time.Time, error) { return c.Now(), nil }
	}
	s := &Sender{
		Config: c, wake: make(chan struct{}, 1), announcer: NewAnnouncer(c.Store, c.Log),
		done: liveness.New(), poll: cmp.Or(c.Poll, pollInterval), grace: stopGrace,
	}
	s.node = s.announcer.node
	// A connection for every slot, because endpoints may share a host. With HTTP/1.1 a connection that breaks fails one
	// attempt only.
	transport := c.Guard.Transport(&tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12}, c.InFlight)
	s.http = httpSender{
		transport: transport, tokens: newTokens(transport, c.Timeout, c.Now), secrets: c.Secrets, timeout: c.Timeout,
		now: c.Now,
	}
	m, collectors := newMetrics(&queueState{store: c.Store, now: c.Now})
	s.metrics = m
	if c.Metrics != nil {
		c.Metrics.MustRegister(collectors...)
	}
	return s
}

// Name implements the worker interface.
func (s *Sender) Name() string { return "webhooks" }

// Progress tells how long ago the queues were last read, while results could be recorded.
func (s *Sender) Progress() (age, limit time.Duration) { return s.done.Age(), liveness.Limit }

// Failures tells how often queues could not be read, or results not be recorded.
func (s *Sender) Failures() liveness.Failures { return s.rounds.Failures() }

// Wake tells this sender and those of other nodes that deliveries were queued. It does not block.
func (s *Sender) Wake() {
	pause.Signal(s.wake)
	s.announcer.Wake()
}

// ForgetEndpoints has every endpoint read from the database again before the next attempt on it: one was paused or
// deleted, or has another secret. It does not block.
func (s *Sender) ForgetEndpoints() {
	s.forgotten.Add(1)
	pause.Signal(s.wake)
}

// Run sends until ctx ends. Then it starts no more attempts, waits up to 9 seconds for running ones, cancels the
// rest, and returns nil. It retries while the database is unavailable. An error is that of a panic.
func (s *Sender) Run(ctx context.Context) error {
	if !s.Store.Shared() {
		return newLoop(s).run(ctx)
	}
	// The heartbeat continues until the running attempts of a stopping sender are finished.
	attending, leave := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	for _, helper := range []func(context.Context){s.heartbeat, s.listen} {
		helpers.Go(func() { helper(attending) })
	}
	helpers.Go(func() { _ = s.announcer.Run(attending) })
	defer func() {
		leave()
		helpers.Wait()
		s.deregister(ctx)
	}()
	return newLoop(s).run(ctx)
}

// listenPause is the time before reconnecting.
const listenPause = time.Second

// listen wakes the sender when another node announces deliveries.
func (s *Sender) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.Store.ListenDeliveries(ctx, func(from string) {
			if from != s.node {
				pause.Signal(s.wake)
			}
		})
		if ctx.Err() == nil {
			s.Log.WarnContext(ctx, "connection that listens for deliveries failed", "error", err)
			_ = pause.For(ctx, listenPause)
		}
	}
}

// errStopped is the cause of attempts that were canceled by shutdown.
var errStopped = errors.New("the sender was stopped")
