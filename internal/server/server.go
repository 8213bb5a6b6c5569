// Package server is the composition root: it opens what the settings name, connects handlers and workers, and runs them
// until it is told to stop.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/internal/api/desk"
	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/http1"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/tracing"
	"github.com/assayhq/assay/internal/worker/deliver"
	"github.com/assayhq/assay/internal/worker/housekeeping"
	"github.com/assayhq/assay/internal/worker/lease"
	"github.com/assayhq/assay/internal/worker/liveness"
	"github.com/assayhq/assay/internal/worker/mail"
	"github.com/assayhq/assay/internal/worker/requestlog"
)

// Server runs everything in one process.
type Server struct {
	app      *App
	metrics  *metrics
	workers  []Worker
	listener map[string]net.Listener // by setting: listen, tls-listen, ops-listen
	servers  []*http1.Server
	lock     *os.File
	redis    *ratelimit.Redis // nil: this node counts by itself
	tracer   *tracing.Tracer  // nil: off
	decoder  *imaging.Helper
	images   *imaging.Cache
	health   workerHealth
	checks   []*check        // of /readyz
	requests *requestlog.Log // nil: requests are not recorded
	clients  *connections
	admit    admission
	leaving  atomic.Bool // requests should go to other nodes
	leases   []*lease.Lease
	changes  *changeExchange // nil: there are no other nodes
	stopping []func()        // ends requests that would never end by themselves

	certificate *certificateFiles // of --tls-listen; nil: none in files
}

const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 60 * time.Second
	maxHeader     = 32 << 10
	pingAfter     = 30 * time.Second // without a frame on a connection of HTTP/2
	pingTimeout   = 15 * time.Second
	maxStreams    = 100
	lastWrites    = time.Second // for what workers record after the time for requests and deliveries is up
	flushTimeout  = 2 * time.Second
	closeTimeout  = 5 * time.Second
)

// New makes the server over an open app and binds its listeners; nothing is answered before Run.
func New(ctx context.Context, app *App) (_ *Server, err error) {
	s := &Server{app: app, metrics: newMetrics(), listener: make(map[string]net.Listener)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if app.Settings.Database == "" {
		if s.lock, app.lock = app.lock, nil; s.lock == nil {
			if s.lock, err = lockData(app.Settings.Data); err != nil {
				return nil, err
			}
		}
	}
	if err := s.startTracing(ctx); err != nil {
		return nil, fmt.Errorf("--otlp-endpoint: %w", err)
	}
	staging, err := media.NewStaging(app.Media.StagingDir())
	if err != nil {
		return nil, err
	}
	if app.Settings.StripLocation {
		staging.StripLocation()
	}
	set := &app.Settings
	responder := &httpx.Responder{Log: app.Log}
	limiter, failures, err := s.limits()
	if err != nil {
		return nil, err
	}
	config := integration.Config{
		Service: app.Service, Limiter: limiter, Failures: failures, Staging: staging,
		MaxPhotoBytes: int64(set.MaxPhotoBytes), Responder: responder, PublicURL: set.PublicURL,
	}
	if set.RequestLogAge > 0 && set.Roles.Has(RoleAPI) {
		s.requests = requestlog.New(app.Service, app.Log, s.metrics.registry)
		s.workers = append(s.workers, s.requests)
		config.Requests = s.requests
		app.flushRequests = s.requests.Flush
	}
	integrationAPI := integration.New(config)
	deskAPI := desk.New(desk.Config{
		Service: app.Service, Failures: failures, Responder: responder,
		Limiter: limiter, RateLimit: set.DeskRateLimit,
	})
	if err := s.addWorkers(ctx, staging); err != nil {
		return nil, err
	}
	s.checks = s.readyChecks()
	s.clients = newConnections(set.connectionLimit(host.OpenFiles()), set.MaxConnectionsPerAddress, set.TrustedProxies,
		app.Log)
	s.admit = app.Store.Admit
	s.metrics.registry.MustRegister(&stateMetrics{s})
	pages, err := s.pages(staging, limiter, integrationAPI)
	if err != nil {
		return nil, err
	}
	if err := s.listen(ctx, s.handler(integrationAPI, deskAPI, pages)); err != nil {
		return nil, err
	}
	s.warn(ctx)
	return s, nil
}

// addWorkers adds the workers of this node's roles, and those that every node has.
func (s *Server) addWorkers(ctx context.Context, staging *media.Staging) error {
	app, set := s.app, &s.app.Settings
	refresher := &catalogRefresher{
		refresh: app.Service.RefreshCatalog, log: app.Log, done: liveness.New(), now: make(chan struct{}, 1),
		every: app.Settings.looks,
	}
	s.workers = append(s.workers, refresher)
	if app.Store.Shared() {
		s.changes = newChangeExchange(app.Store, app.Log)
		s.changes.heard[service.CatalogChange], s.changes.heard[service.KeyChange] = refresher.wake, app.Service.ForgetKeys
		app.changed = s.changes.tell
		s.workers = append(s.workers, s.changes)
	} else {
		app.changed = func(service.Change) {}
	}
	if set.Roles.Has(RoleHousekeeping) {
		s.workers = append(s.workers,
			&housekeeping.Keeper{
				Service: app.Service, Log: app.Log, PhotoRequestAge: set.PhotoRequestAge, UnusedPhotoAge: set.UnusedPhotoAge,
				ClaimAge: set.ClaimAge, AttemptAge: set.AttemptAge, EventAge: set.EventAge,
				DeliveryAge: set.DeliveryAge, PhotoAge: set.PhotoAge, RequestLogAge: set.RequestLogAge, Now: time.Now,
				PortalLogAge: set.PortalLogAge,
				Done:         liveness.New(), Metrics: s.metrics.registry, Clock: app.clockGuard(), Lease: s.lease("housekeeping"),
			},
			&housekeeping.Sweeper{
				Service: app.Service, Staging: staging, Log: app.Log, Clock: app.clockGuard(), Lease: s.lease("media-sweeper"),
			})
	}
	if !set.Roles.Has(RoleDeliver) {
		announcer := deliver.NewAnnouncer(app.Store, app.Log)
		app.wake = announcer.Wake
		s.workers = append(s.workers, announcer)
		return nil
	}
	sender, err := s.sender()
	if err != nil {
		return err
	}
	app.wake = sender.Wake
	tell := app.changed
	app.changed = func(c service.Change) {
		if c == service.EndpointChange || c == service.KeyChange {
			sender.ForgetEndpoints()
		}
		tell(c)
	}
	if s.changes != nil {
		s.changes.heard[service.EndpointChange] = sender.ForgetEndpoints
		s.changes.heard[service.KeyChange] = func() {
			app.Service.ForgetKeys()
			sender.ForgetEndpoints()
		}
	}
	s.workers = append(s.workers, sender)
	return s.addMail(ctx)
}

// lease returns the lease of a task that one node does at a time.
func (s *Server) lease(task string) *lease.Lease {
	l := lease.New(s.app.Store, task, s.app.Log)
	s.leases = append(s.leases, l)
	return l
}

// sender returns the worker that sends webhooks.
func (s *Server) sender() (*deliver.Sender, error) {
	set := &s.app.Settings
	c := deliver.Config{
		Store: s.app.Store, Secrets: s.app.Secrets, Guard: s.app.Guard,
		Schedule: webhook.Schedule{Delays: set.WebhookDelays}, Timeout: set.WebhookTimeout, InFlight: set.WebhookInFlight,
		Now: time.Now, Log: s.app.Log, Metrics: s.metrics.registry,
		SharedNow: (*store.Tx).Clock, FirstDelay: set.TestEventDelay, Poll: set.looks,
	}
	if set.WebhookCAFile != "" {
		var err error
		if c.RootCAs, err = netguard.LoadCAs(set.WebhookCAFile); err != nil {
			return nil, fmt.Errorf("--webhook-ca-file: %w", err)
		}
	}
	return deliver.New(c), nil
}

// addMail adds the worker that sends mail, where there is a mail server.
func (s *Server) addMail(ctx context.Context) error {
	set := &s.app.Settings
	if set.SMTPURL == "" {
		return nil
	}
	server, err := mail.ParseServer(set.SMTPURL)
	if err != nil {
		return fmt.Errorf("--smtp-url %w", err)
	}
	c := mail.Config{Service: s.app.Service, Server: server, Now: time.Now, Log: s.app.Log, Metrics: s.metrics.registry}
	c.IssuerName, c.IssuerAddress = set.IssuerName, set.IssuerAddress
	if c.From, err = mail.ParseFrom(set.MailFrom); err != nil {
		return fmt.Errorf("--mail-from %w", err)
	}
	if set.SMTPCAFile != "" {
		if c.RootCAs, err = netguard.LoadCAs(set.SMTPCAFile); err != nil {
			return fmt.Errorf("--smtp-ca-file: %w", err)
		}
	}
	if server.Exposed() {
		s.app.Log.WarnContext(ctx, "UNENCRYPTED MAIL: --smtp-url turns STARTTLS off, "+
			"so that links with which people sign in can be read on the way")
	}
	if u, err := url.Parse(set.PublicURL); err == nil && mail.Loopback(u.Hostname()) && !mail.Loopback(server.Host) {
		s.app.Log.WarnContext(ctx, "LINKS IN MAIL LEAD TO THIS MACHINE: set --public-url to where people open the portal",
			"public_url", set.PublicURL)
	}
	c.Lease = s.lease("mail")
	sender := mail.New(c)
	s.app.wakeMail = sender.Wake
	if s.changes != nil {
		s.changes.heard[service.MailChange] = sender.Wake
	}
	s.workers = append(s.workers, sender)
	return nil
}

// Run answers requests and runs the workers until ctx ends. Then it stops accepting, finishes what runs, ten seconds at
// most, and returns nil. ready gets the line of addresses once everything is up. What does not end, because the
// database or the disk does not answer, is left behind: the caller is to end the process.
func (s *Server) Run(ctx context.Context, ready io.Writer) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	running, fail := errgroup.WithContext(context.WithoutCancel(ctx))
	i := 0
	for _, name := range []string{"listen", "tls-listen", "ops-listen"} {
		l, ok := s.listener[name]
		if !ok {
			continue
		}
		server := s.servers[i]
		i++
		running.Go(func() error {
			serve := func(l net.Listener) error { return server.Serve(httpx.Gather(l)) }
			if server.TLSConfig != nil {
				serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
			}
			if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("--%s: %w", name, err)
			}
			return nil
		})
	}
	workers, stopWorkers := context.WithCancel(store.Unhurried(context.WithoutCancel(ctx)))
	defer stopWorkers()
	for _, w := range s.workers {
		running.Go(func() error {
			defer s.health.ended(w.Name())
			return s.supervise(workers, w)
		})
	}
	if _, err := fmt.Fprintln(ready, s.Addresses()); err != nil {
		return err
	}
	go returnMemory(workers)
	go s.warnMedia(workers)
	select {
	case <-ctx.Done():
	case <-fail.Done():
	}
	s.leave(ctx, fail.Done())
	s.app.Log.InfoContext(ctx, "stopping")
	stopWorkers()
	limit := time.After(s.app.Settings.shutdownTimeLimit + lastWrites)
	s.shutdown(ctx)
	err = s.await(ctx, running, limit, func() error { return context.Cause(fail) })
	s.flushRequests(ctx)
	s.app.closeLimit = closeTimeout
	return err
}

// await waits for the listeners and workers to end, up to the limit, and returns their error. Those that have not ended
// are named in the log.
func (s *Server) await(
	ctx context.Context, running *errgroup.Group, limit <-chan time.Time, failure func() error,
) error {
	ended := make(chan error, 1)
	go func() { ended <- running.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-limit:
	}
	if left := s.health.running(); len(left) > 0 {
		s.app.Log.ErrorContext(ctx, "workers did not end in time: whether their last writes are done is not known",
			"workers", left)
		return failure()
	}
	return <-ended
}

// flushRequests stores the requests that were answered last.
func (s *Server) flushRequests(ctx context.Context) {
	if s.requests == nil {
		return
	}
	limit, cancel := context.WithTimeout(store.Unhurried(context.WithoutCancel(ctx)), flushTimeout)
	defer cancel()
	if err := s.requests.Flush(limit); err != nil {
		s.app.Log.WarnContext(ctx, "the last requests are missing in the request log", "error", err)
	}
}

// leave says for --shutdown-delay that this node is not ready, so that nobody sends it requests anymore when its
// listeners close. failed ends the wait.
func (s *Server) leave(ctx context.Context, failed <-chan struct{}) {
	s.leaving.Store(true)
	delay := s.app.Settings.ShutdownDelay
	if delay <= 0 {
		return
	}
	s.app.Log.InfoContext(ctx, "not ready anymore, stopping soon", "delay", delay)
	select {
	case <-time.After(delay):
	case <-failed:
	}
}

// shutdown lets running requests end, then the images that nobody waits for anymore, and closes what still runs when
// the time is up.
func (s *Server) shutdown(ctx context.Context) {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.app.Settings.shutdownTimeLimit)
	defer cancel()
	for _, stop := range s.stopping {
		stop()
	}
	var all errgroup.Group
	for _, server := range s.servers {
		all.Go(func() error {
			if err := server.Shutdown(limit); err != nil {
				return server.Close()
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		s.app.Log.WarnContext(ctx, "requests were cut off", "error", err)
	}
	if s.decoder != nil {
		s.decoder.Close()
	}
	if s.images != nil {
		s.images.Close(limit)
	}
}

func (s *Server) close() error {
	var err error
	for _, l := range s.listener {
		if e := l.Close(); !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	if s.decoder != nil {
		s.decoder.Close()
	}
	s.stopTracing()
	if s.redis != nil {
		err = errors.Join(err, s.redis.Close())
		s.redis = nil
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
		s.lock = nil
	}
	return err
}
