package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/outbox"
)

const (
	webhooksName = "webhooks: "

	throughputEndpoints = 16
	throughputClients   = 4 * throughputEndpoints // in flight in the sender
	hangingEndpoints    = 20
	healthyEndpoints    = 80
	backlog             = 100_000
	maxDelay            = 20.0 // milliseconds
	deliveryUnit        = "deliveries/s"
	bareClient          = "a bare http.Client loop with the same concurrency"
)

// webhookMeasure is a figure on a running program whose outbox is filled from here.
type webhookMeasure struct {
	name string
	run  func(ctx context.Context, s *suite, name string, w *webhookSite) error
	long bool // left out of a quick run
}

func (s *suite) webhookMeasures() []webhookMeasure {
	return []webhookMeasure{
		{name: "from the verdict's answer to the receipt", run: webhookDelay},
		{name: "throughput", run: webhookThroughput},
		{name: fmt.Sprintf("beside %d endpoints that hang", hangingEndpoints), run: webhookHanging, long: true},
		{name: fmt.Sprintf("after %s deliveries", count(s.history)), run: webhookBacklog, long: true},
	}
}

// webhooks measures the deliveries of the real program on both engines, with fsync: against a bare client, with hanging
// endpoints, with a long history, and from commit to receipt.
func webhooks(ctx context.Context, s *suite) error {
	for _, e := range []engine{sqlite, postgres} {
		if err := s.thenClose(func() error { return s.webhooksOn(ctx, e) }); err != nil {
			return err
		}
	}
	return nil
}

// webhooksOn measures on one site, which the last measure fills.
func (s *suite) webhooksOn(ctx context.Context, e engine) error {
	var site *webhookSite
	for _, m := range s.webhookMeasures() {
		name := fmt.Sprintf("%s%s, %s", webhooksName, m.name, e)
		if !s.wanted(name) || s.leavesOut(m.long) {
			continue
		}
		var err error
		if site == nil {
			site, err = s.newWebhookSite(ctx, e)
		}
		if err == nil {
			err = m.run(ctx, s, name, site)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// webhookSite is a running program, its database opened a second time, and a receiver.
type webhookSite struct {
	*shop
	store  *store.Store
	outbox *outbox.Outbox
	inbox  *receiver
}

func (s *suite) newWebhookSite(ctx context.Context, e engine) (*webhookSite, error) {
	w := &webhookSite{inbox: s.newReceiver()}
	settings, err := w.inbox.settings(s.folder)
	if err != nil {
		return nil, err
	}
	w.shop, err = s.launchFresh(ctx, e, append(settings, "ASSAY_SECRET_KEY="+outbox.SecretKey)...)
	if err != nil {
		return nil, err
	}
	if w.store, err = store.Open(ctx, w.target()); err != nil {
		return nil, err
	}
	s.later(w.store.Close)
	w.store.SealLogs(audit.NewChain([]byte(outbox.SecretKey))) // no figure checks the logs
	s.later(func() error { w.inbox.goOn(); return nil })       // first, so that no request hangs any more
	w.outbox, err = outbox.New(ctx, w.store)
	return w, err
}

func (w *webhookSite) endpoints(ctx context.Context, path string, n int) ([]*webhook.Endpoint, error) {
	all := make([]*webhook.Endpoint, n)
	for i := range all {
		var err error
		if all[i], err = w.outbox.Endpoint(ctx, fmt.Sprintf("%s%s/%d-%s", w.inbox.URL, path, i, uuid7.New()),
			nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// warmUpShare is the part of a round that is not measured, while connections are opened.
const warmUpShare = 0.1

// pace returns the rate of n events per second after the warm-up. done returns the number so far.
func pace(ctx context.Context, n int64, done func() int64) (rate float64, err error) {
	var start time.Time
	const limit = 5 * time.Minute
	for deadline := time.Now().Add(limit); ; {
		switch now := done(); {
		case now >= n && !start.IsZero():
			return (1 - warmUpShare) * float64(n) / time.Since(start).Seconds(), nil
		case start.IsZero() && now >= int64(warmUpShare*float64(n)):
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

// queuedFor is until when deliveries wait for their release: longer than filling takes, and shorter than the longest
// delay of the schedule, beyond which the sender takes a time for a mistake of a clock.
const queuedFor = 5 * time.Minute

// send makes n deliveries per endpoint due at once, and returns the sender's rate. The sender finds them in a second.
func (w *webhookSite) send(ctx context.Context, endpoints []*webhook.Endpoint, n int) (sample, error) {
	if _, err := w.outbox.Queue(ctx, endpoints, n, time.Now().Add(queuedFor)); err != nil {
		return sample{}, err
	}
	return w.release(ctx, n*len(endpoints))
}

// release makes queued deliveries due, and returns the rate at which they are sent.
func (w *webhookSite) release(ctx context.Context, total int) (sample, error) {
	before := w.inbox.received.Load()
	if err := w.outbox.Release(ctx, w.target(), time.Now()); err != nil {
		return sample{}, err
	}
	worked, err := processorTime(w.server.process.PID())
	if err != nil {
		return sample{}, err
	}
	rate, err := pace(ctx, int64(total), func() int64 { return w.inbox.received.Load() - before })
	if err != nil {
		return sample{}, err
	}
	after, err := processorTime(w.server.process.PID())
	return sample{rate: rate, work: (after - worked) / time.Duration(total)}, err
}

// post is the base: clients post n bodies concurrently.
func (w *webhookSite) post(ctx context.Context, clients, n int) (sample, error) {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: w.inbox.cas(), MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
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
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.inbox.URL, bytes.NewReader(body))
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
	return sample{rate: rate}, errors.Join(err, group.Wait())
}

// amount returns how many deliveries a round of a duration has.
func amount(d time.Duration) int { return max(100, int(d.Seconds()*800)) }

// against compares sending a number of deliveries with a bare client.
func (w *webhookSite) against(
	ctx context.Context, s *suite, name string, g goal, each func(time.Duration) int,
) error {
	endpoints, err := w.endpoints(ctx, "/hook", throughputEndpoints)
	if err != nil {
		return err
	}
	a := &side{name: name, round: func(ctx context.Context, d time.Duration) (sample, error) {
		return w.send(ctx, endpoints, each(d))
	}}
	b := &side{name: bareClient, round: func(ctx context.Context, d time.Duration) (sample, error) {
		return w.post(ctx, throughputClients, throughputEndpoints*each(d))
	}}
	if err := s.interleave(ctx, a, b); err != nil {
		return err
	}
	s.rates(name, deliveryUnit, g, a, b)
	if !s.profiled(name) {
		return nil
	}
	n := each(2 * profileTime)
	if _, err := w.outbox.Queue(ctx, endpoints, n, time.Now().Add(queuedFor)); err != nil {
		return err
	}
	return s.profile(ctx, name, w.server.ops, func(ctx context.Context, _ time.Duration) error {
		_, err := w.release(ctx, n*len(endpoints))
		return err
	})
}

func webhookThroughput(ctx context.Context, s *suite, name string, w *webhookSite) error {
	return w.against(ctx, s, name, atLeast(0.65), amount)
}

// webhookBacklog sends in a database with a long history.
func webhookBacklog(ctx context.Context, s *suite, name string, w *webhookSite) error {
	old, err := w.endpoints(ctx, "/hook", 1)
	if err != nil {
		return err
	}
	if err := w.outbox.History(ctx, w.target(), old[0], s.history); err != nil {
		return err
	}
	return w.against(ctx, s, name, goal{}, func(d time.Duration) int {
		if s.quick {
			return amount(d)
		}
		return max(amount(d), backlog/throughputEndpoints/2)
	})
}

// webhookHanging compares the rate of endpoints while others hang with their rate while none does.
func webhookHanging(ctx context.Context, s *suite, name string, w *webhookSite) error {
	healthy, err := w.endpoints(ctx, "/hook", healthyEndpoints)
	if err != nil {
		return err
	}
	each := func(d time.Duration) int { return max(20, amount(d)/5) }
	a := &side{name: name, round: func(ctx context.Context, d time.Duration) (sample, error) {
		return w.sendBeside(ctx, healthy, each(d))
	}}
	b := &side{name: "the others while none hangs", round: func(ctx context.Context, d time.Duration) (sample, error) {
		return w.send(ctx, healthy, each(d))
	}}
	if err := s.interleave(ctx, a, b); err != nil {
		return err
	}
	s.rates(name, deliveryUnit, goal{}, a, b)
	return nil
}

// sendBeside is send while further endpoints hang.
func (w *webhookSite) sendBeside(ctx context.Context, healthy []*webhook.Endpoint, each int) (sample, error) {
	others, err := w.endpoints(ctx, hangPath, hangingEndpoints)
	if err != nil {
		return sample{}, err
	}
	if _, err := w.outbox.Queue(ctx, others, each, time.Now()); err != nil {
		return sample{}, err
	}
	if err := w.awaitHanging(ctx, func(n int64) bool { return n >= hangingEndpoints }); err != nil {
		return sample{}, err
	}
	one, err := w.send(ctx, healthy, each)
	if err := errors.Join(err, w.deleteEndpoints(ctx, others, each)); err != nil {
		return sample{}, err
	}
	w.inbox.goOn()
	err = w.awaitHanging(ctx, func(n int64) bool { return n == 0 })
	w.inbox.hang()
	return one, err
}

// awaitHanging waits for a number of hanging requests.
func (w *webhookSite) awaitHanging(ctx context.Context, right func(hanging int64) bool) error {
	for deadline := time.Now().Add(time.Minute); !right(w.inbox.hanging.Load()); {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d requests hang after a minute", w.inbox.hanging.Load())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// deleteEndpoints deletes endpoints with their queued deliveries, of which each has so many at most.
func (w *webhookSite) deleteEndpoints(ctx context.Context, endpoints []*webhook.Endpoint, each int) error {
	return w.store.Update(ctx, func(tx *store.Tx) error {
		for _, e := range endpoints {
			if err := tx.DeleteEndpoint(e.APIKeyID, e.ID, time.Now()); err != nil {
				return err
			}
			if _, err := tx.DropPendingDeliveries(e.ID, each); err != nil {
				return err
			}
		}
		return nil
	})
}

// webhookDelay measures the time from the answer to a verdict, which is committed then, to the receipt, in an idle
// system.
func webhookDelay(ctx context.Context, s *suite, name string, w *webhookSite) error {
	c, err := w.client(w.Accounts[0].Live)
	if err != nil {
		return err
	}
	if _, err := c.CreateWebhook(ctx, client.CreateWebhook{
		URL: w.inbox.URL + "/live", Events: []client.WebhookEvent{client.EventOrderOutcome},
	}); err != nil {
		return err
	}
	drafts, err := w.drafts(ctx, 0, 1)
	if err != nil {
		return err
	}
	turns := 40
	if s.quick {
		turns = 10
	}
	var delays []time.Duration
	var values []float64
	for n := range turns {
		created, err := c.CreateOrder(ctx, drafts[0])
		if err != nil {
			return err
		}
		if err := w.judge(ctx, created.ID, n, false); err != nil {
			return err
		}
		answered := time.Now()
		select {
		case at := <-w.inbox.arrived:
			delays = append(delays, max(0, at.Sub(answered))) // it may arrive before the answer
			values = append(values, max(0, at.Sub(answered).Seconds()*1000))
		case <-time.After(10 * time.Second):
			return errors.New("a delivery did not arrive in ten seconds")
		}
		time.Sleep(50 * time.Millisecond) // so that the system is idle again
	}
	slices.Sort(delays)
	f := value(name, "ms", "median of single deliveries", values, atMost(maxDelay))
	f.P50, f.P99 = percentile(delays, 0.5), percentile(delays, 0.99)
	s.report.add(f)
	return nil
}
