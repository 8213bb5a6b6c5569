package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/outbox"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/worker/deliver"
	"golang.org/x/sync/errgroup"
)

// webhooks measures the sender on both engines: against a bare client, with hanging endpoints, with a long history,
// and from commit to receipt.
func webhooks(ctx context.Context, s *suite) error {
	if !slices.ContainsFunc(webhookMeasures, func(m webhookMeasure) bool {
		return s.wanted(m.title(sqlite)) || s.wanted(m.title(postgres))
	}) {
		return nil
	}
	folder, err := os.MkdirTemp("", "assay-bench-webhooks-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	server, err := pgtest.Launch()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	n := 0
	engines := map[engine]func() (string, error){
		sqlite: func() (string, error) {
			n++
			return filepath.Join(folder, fmt.Sprintf("%d.db", n)), nil
		},
		postgres: server.Database,
	}
	for _, e := range []engine{sqlite, postgres} {
		for _, m := range webhookMeasures {
			name := m.title(e)
			if !s.wanted(name) {
				continue
			}
			f, err := m.on(ctx, engines[e])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			f.Name = name
			s.report.add(f)
		}
	}
	return nil
}

type webhookMeasure struct {
	name string
	run  func(ctx context.Context, open openSite) (figure, error)
}

var webhookMeasures = []webhookMeasure{
	{"throughput", webhookThroughput},
	{"beside 20 that hang", webhookHanging},
	{"backlog of 100,000 after 5,000,000", webhookBacklog},
	{"delay", webhookDelay},
}

func (m *webhookMeasure) title(e engine) string { return fmt.Sprintf("webhooks %s, %s", m.name, e) }

// on measures on databases of an engine, and closes them.
func (m *webhookMeasure) on(ctx context.Context, database func() (string, error)) (figure, error) {
	var sites []*webhookSite
	f, err := m.run(ctx, func() (*webhookSite, error) {
		target, err := database()
		if err != nil {
			return nil, err
		}
		site, err := newWebhookSite(ctx, target)
		if err == nil {
			sites = append(sites, site)
		}
		return site, err
	})
	for _, site := range sites {
		err = errors.Join(err, site.close())
	}
	return f, err
}

// webhookSite is a database and a receiver that counts.
type webhookSite struct {
	target   string
	store    *store.Store
	outbox   *outbox.Outbox
	sender   *deliver.Sender
	stop     func()
	receiver *httptest.Server
	received atomic.Int64 // without hanging requests
	hanging  atomic.Int64
	arrived  chan time.Time
	release  atomic.Pointer[chan struct{}] // closed to release hanging requests
}

const hangPath = "/hang"

func newWebhookSite(ctx context.Context, target string) (*webhookSite, error) {
	s, err := store.Open(ctx, target)
	if err != nil {
		return nil, err
	}
	o, err := outbox.New(ctx, s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	w := &webhookSite{target: target, store: s, outbox: o, arrived: make(chan time.Time, 1)}
	w.receiver = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		now := time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasPrefix(r.URL.Path, hangPath) {
			w.hanging.Add(1)
			defer w.hanging.Add(-1)
			select {
			case <-*w.release.Load():
			case <-r.Context().Done():
			}
			return
		}
		w.received.Add(1)
		select {
		case w.arrived <- now:
		default:
		}
	}))
	w.receiver.EnableHTTP2 = true
	w.receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.receiver.StartTLS()
	w.start(ctx)
	return w, nil
}

// hang makes requests to hangPath wait until goOn.
func (w *webhookSite) hang() {
	release := make(chan struct{})
	w.release.Store(&release)
}

func (w *webhookSite) goOn() { close(*w.release.Load()) }

func (w *webhookSite) close() error {
	w.stop()
	w.receiver.Close()
	return w.store.Close()
}

func (w *webhookSite) cas() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(w.receiver.Certificate())
	return pool
}

func (w *webhookSite) endpoints(ctx context.Context, path string, n int) ([]*webhook.Endpoint, error) {
	all := make([]*webhook.Endpoint, n)
	for i := range all {
		var err error
		if all[i], err = w.outbox.Endpoint(ctx, fmt.Sprintf("%s%s/%d-%s", w.receiver.URL, path, i, store.NewID()),
			nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// start runs a sender until the site is closed, which also releases hanging requests.
func (w *webhookSite) start(ctx context.Context) {
	w.sender = deliver.New(deliver.Config{
		Store: w.store, Secrets: w.outbox.Secrets, Guard: &netguard.Guard{AllowPrivate: true}, RootCAs: w.cas(),
		Schedule: webhook.DefaultSchedule(), Timeout: 10 * time.Second, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	w.hang()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.sender.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		w.goOn()
		<-done
	}
}

// warmUp is the share of a run that is not measured, while connections are opened.
const warmUp = 0.1

// pace returns the rate of n events per second after the warm-up. done returns the number so far.
func pace(ctx context.Context, n int64, done func() int64) (float64, error) {
	var start time.Time
	const limit = 5 * time.Minute
	for deadline := time.Now().Add(limit); ; {
		switch now := done(); {
		case now >= n:
			return (1 - warmUp) * float64(n) / time.Since(start).Seconds(), nil
		case start.IsZero() && now >= int64(warmUp*float64(n)):
			start = time.Now()
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%d of %d deliveries arrived in %v", done(), n, limit)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(500 * time.Microsecond):
		}
	}
}

// send makes n deliveries per endpoint due at once, and returns the sender's rate.
func (w *webhookSite) send(ctx context.Context, endpoints []*webhook.Endpoint, n int) (float64, error) {
	if _, err := w.outbox.Queue(ctx, endpoints, n, time.Now().Add(time.Hour)); err != nil {
		return 0, err
	}
	before := w.received.Load()
	if err := w.outbox.Release(ctx, w.target, time.Now()); err != nil {
		return 0, err
	}
	w.sender.Wake()
	return pace(ctx, int64(n*len(endpoints)), func() int64 { return w.received.Load() - before })
}

// post is the baseline: clients post n bodies concurrently.
func (w *webhookSite) post(ctx context.Context, url string, clients, n int) (float64, error) {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: w.cas(), MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: clients,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	body := []byte(`{"padding":"` + strings.Repeat("abcdefghijklmnopqrstuvwxyz", 30) + `"}`)
	var next, done atomic.Int64
	var group errgroup.Group
	for range clients {
		group.Go(func() error {
			for next.Add(1) <= int64(n) {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					return err
				}
				response, err := client.Do(request)
				if err != nil {
					return err
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				done.Add(1)
			}
			return nil
		})
	}
	rate, err := pace(ctx, int64(n), done.Load)
	return rate, errors.Join(err, group.Wait())
}

const (
	webhookRounds = 5

	throughputEndpoints = 16
	throughputClients   = 4 * throughputEndpoints // in flight in the sender
	throughputEach      = 600

	hangingEach = 60

	backlogRounds  = 3
	backlog        = 100_000
	backlogHistory = 5_000_000

	allowedDelay = 20.0 // milliseconds
)

// alternate measures two rates in alternating rounds after a warm-up round, and reports the medians.
func alternate(rounds int, versus string, measured, base func() (float64, error)) (figure, error) {
	var rates, bases, ratios []float64
	for i := range 1 + rounds {
		b, err := base()
		if err != nil {
			return figure{}, err
		}
		a, err := measured()
		if err != nil {
			return figure{}, err
		}
		if i > 0 {
			rates, bases, ratios = append(rates, a), append(bases, b), append(ratios, a/b)
		}
	}
	return figure{Ratio: median(ratios), Rate: median(rates), Base: median(bases), Unit: requestUnit, Versus: versus}, nil
}

// openSite opens the site of one figure.
type openSite func() (*webhookSite, error)

// with opens the site with endpoints that answer.
func (open openSite) with(ctx context.Context, count int) (*webhookSite, []*webhook.Endpoint, error) {
	w, err := open()
	if err != nil {
		return nil, nil, err
	}
	endpoints, err := w.endpoints(ctx, "/hook", count)
	return w, endpoints, err
}

// webhookThroughput sends a backlog, alternating with the baseline.
func webhookThroughput(ctx context.Context, open openSite) (figure, error) {
	w, endpoints, err := open.with(ctx, throughputEndpoints)
	if err != nil {
		return figure{}, err
	}
	return alternate(webhookRounds, "a bare client loop with the same concurrency",
		func() (float64, error) { return w.send(ctx, endpoints, throughputEach) },
		func() (float64, error) {
			return w.post(ctx, w.receiver.URL, throughputClients, throughputEndpoints*throughputEach)
		})
}

// webhookHanging compares the rate of 80 endpoints while 20 others hang with their rate while the others are idle.
func webhookHanging(ctx context.Context, open openSite) (figure, error) {
	w, healthy, err := open.with(ctx, 80)
	if err != nil {
		return figure{}, err
	}
	return alternate(webhookRounds, "the 80 others of 100 endpoints while none hangs",
		func() (float64, error) { return w.sendBeside(ctx, healthy, 20) },
		func() (float64, error) { return w.send(ctx, healthy, hangingEach) })
}

// sendBeside is send while further endpoints hang.
func (w *webhookSite) sendBeside(ctx context.Context, healthy []*webhook.Endpoint, hanging int) (float64, error) {
	others, err := w.endpoints(ctx, hangPath, hanging)
	if err != nil {
		return 0, err
	}
	if _, err := w.outbox.Queue(ctx, others, hangingEach, time.Now()); err != nil {
		return 0, err
	}
	w.sender.Wake()
	if err := w.await(ctx, func(n int64) bool { return n >= int64(hanging) }); err != nil {
		return 0, err
	}
	rate, err := w.send(ctx, healthy, hangingEach)
	if err := errors.Join(err, w.deleteEndpoints(ctx, others)); err != nil {
		return 0, err
	}
	w.goOn()
	err = w.await(ctx, func(n int64) bool { return n == 0 })
	w.hang()
	return rate, err
}

// await waits for a number of hanging requests.
func (w *webhookSite) await(ctx context.Context, right func(hanging int64) bool) error {
	for deadline := time.Now().Add(time.Minute); !right(w.hanging.Load()); {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d requests hang after a minute", w.hanging.Load())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// webhookBacklog sends a large backlog in a database with a long history, alternating with the baseline.
func webhookBacklog(ctx context.Context, open openSite) (figure, error) {
	w, endpoints, err := open.with(ctx, throughputEndpoints)
	if err != nil {
		return figure{}, err
	}
	if err := w.outbox.History(ctx, w.target, endpoints[0], backlogHistory); err != nil {
		return figure{}, err
	}
	return alternate(backlogRounds, "a bare client loop with the same concurrency",
		func() (float64, error) { return w.send(ctx, endpoints, backlog/throughputEndpoints) },
		func() (float64, error) { return w.post(ctx, w.receiver.URL, throughputClients, backlog) })
}

// deleteEndpoints deletes endpoints with their queued deliveries.
func (w *webhookSite) deleteEndpoints(ctx context.Context, endpoints []*webhook.Endpoint) error {
	return w.store.Update(ctx, func(tx *store.Tx) error {
		for _, e := range endpoints {
			if err := tx.DeleteEndpoint(e.APIKeyID, e.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// webhookDelay measures the time from commit to receipt in an idle system.
func webhookDelay(ctx context.Context, open openSite) (figure, error) {
	w, endpoints, err := open.with(ctx, 1)
	if err != nil {
		return figure{}, err
	}
	var delays []time.Duration
	for range 40 {
		select {
		case <-w.arrived:
		default:
		}
		if _, err := w.outbox.Queue(ctx, endpoints, 1, time.Now()); err != nil {
			return figure{}, err
		}
		committed := time.Now()
		w.sender.Wake()
		select {
		case at := <-w.arrived:
			delays = append(delays, at.Sub(committed))
		case <-time.After(10 * time.Second):
			return figure{}, errors.New("a delivery did not arrive in ten seconds")
		}
		time.Sleep(50 * time.Millisecond) // so that the system is idle again
	}
	slices.Sort(delays)
	delay := percentile(delays, 0.5)
	return figure{
		Ratio: allowedDelay / delay, Rate: 1000 / delay, Base: 1000 / allowedDelay, Unit: requestUnit, P50: delay,
		P99: percentile(delays, 0.99), Versus: "20 ms from commit to receipt, one at a time",
	}, nil
}
