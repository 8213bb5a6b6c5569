package deliver

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/assayhq/assay/internal/buildinfo"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/outbox"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

func TestSignedDelivery(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		r := newReceiver(t, w.clock, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte("thanks"))
		})
		s := w.start(r, nil)
		d := w.queue(1, w.endpoint(r.URL+"/hook?a=b"))[0]
		s.Wake()
		must.Eventually(t, patient, "the delivery", func() bool { return w.pending() == 0 })
		got := r.all()
		if len(got) != 1 || got[0].body != string(d.Body) || got[0].path != "/hook" {
			t.Fatalf("received %+v, want %s", got, d.Body)
		}
		for name, want := range map[string]string{
			"X-LG-Event":       "order-outcome",
			"X-LG-Delivery-Id": d.ID,
			"X-LG-Timestamp":   strconv.FormatInt(noon.Unix(), 10),
			"Content-Type":     "application/json",
			"User-Agent":       "Assay-Webhooks/" + buildinfo.Version,
			"Authorization":    "",
			"Content-Length":   strconv.Itoa(len(d.Body)),
		} {
			if value := got[0].header.Get(name); value != want {
				t.Errorf("%s: %q, want %q", name, value, want)
			}
		}
		if got := w.Delivery(d.ID); got.Status != webhook.Delivered || got.Attempts != 1 || !got.FinishedAt.Equal(noon) {
			t.Errorf("delivery: %+v", got)
		}
		a := w.Attempts(d.ID)
		if len(a) != 1 || a[0].HTTPStatus != http.StatusAccepted || a[0].Answer != "thanks" || a[0].Failure != "" ||
			!a[0].At.Equal(noon) {
			t.Errorf("attempts: %+v", a)
		}
	})
}

// TestRetries follows a delivery through four failed attempts and a redelivery.
func TestRetries(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var status atomic.Int64
		status.Store(http.StatusInternalServerError)
		r := newReceiver(t, w.clock, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
		s := w.start(r, nil)
		d := w.queue(1, w.endpoint(r.URL))[0]
		s.Wake()
		for i, delay := range []time.Duration{time.Minute, 3 * time.Minute, 7 * time.Minute} {
			must.Eventually(t, patient, "the attempt", func() bool { return w.Delivery(d.ID).Attempts == i+1 })
			due := w.clock.Now().Add(delay + delay/20) // half of the jitter
			if got := w.Delivery(d.ID); got.Status != webhook.Pending || !got.NextAttemptAt.Equal(due) {
				t.Fatalf("after attempt %d: %+v, want the next at %v", i+1, got, due)
			}
			w.clock.Set(due)
			s.Wake()
		}
		must.Eventually(t, patient, "the end", func() bool { return w.pending() == 0 })
		if got := w.Delivery(d.ID); got.Status != webhook.Failed || got.Attempts != 4 {
			t.Errorf("after four attempts: %+v", got)
		}

		status.Store(http.StatusNoContent)
		w.clock.Advance(time.Hour)
		w.Update(func(tx *store.Tx) error { return tx.Redeliver(d.ID, w.clock.Now()) })
		s.Wake()
		must.Eventually(t, patient, "the redelivery", func() bool { return w.Delivery(d.ID).Status == webhook.Delivered })
		got := r.all()
		if len(got) != 5 {
			t.Fatalf("%d requests", len(got))
		}
		timestamps := make(map[string]bool)
		for _, request := range got {
			if request.body != string(d.Body) || request.header.Get("X-LG-Delivery-Id") != d.ID {
				t.Errorf("attempts differ: %+v", request)
			}
			timestamps[request.header.Get("X-LG-Timestamp")] = true
		}
		if len(timestamps) != 5 {
			t.Errorf("%d timestamps in 5 attempts", len(timestamps))
		}
		a := w.Attempts(d.ID)
		if len(a) != 5 || a[4].Number != 5 || a[0].HTTPStatus != 500 || a[4].HTTPStatus != 204 {
			t.Errorf("attempts: %+v", a)
		}
	})
}

// TestRetryTimer checks that a retry does not need a Wake.
func TestRetryTimer(t *testing.T) {
	w := sqliteWorld(t)
	var requests atomic.Int64
	r := newReceiver(t, w.clock, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := w.sender(r, func(c *Config) {
		c.Now = time.Now
		c.Schedule = webhook.Schedule{Delays: []time.Duration{50 * time.Millisecond}}
	})
	s.poll = time.Hour
	w.clock.Set(time.Now())
	w.run(s)
	w.queue(1, w.endpoint(r.URL))
	s.Wake()
	must.Eventually(t, patient, "the second attempt", func() bool { return w.pending() == 0 && requests.Load() == 2 })
}

// TestLeaseRecovery checks that a sender takes over the queue of a crashed one.
func TestLeaseRecovery(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		r := newReceiver(t, w.clock, nil)
		e := w.endpoint(r.URL)
		d := w.queue(1, e)[0]
		w.Update(func(tx *store.Tx) error { // a sender that crashes during the attempt
			_, err := tx.LeaseQueues(uuid7.New(), []string{e.ID}, noon, noon.Add(30*time.Second))
			return err
		})
		s := w.start(r, nil)
		if w.Store.Shared() { // another node may be sending
			w.queue(1, w.endpoint(r.URL+"/other"))
			s.Wake()
			must.Eventually(t, patient, "the other delivery", func() bool { return w.pending() == 1 })
			if got := w.Delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 0 || r.count() != 1 {
				t.Fatalf("sent under another's lease: %+v", got)
			}
			w.clock.Advance(30 * time.Second)
			s.Wake()
		}
		must.Eventually(t, patient, "the delivery", func() bool { return w.Delivery(d.ID).Status == webhook.Delivered })
		if got := w.Delivery(d.ID).Attempts; got != 1 {
			t.Errorf("%d attempts, want that the crash does not count", got)
		}
	})
}

// TestClockBehind restarts a sender whose clock is an hour behind: what was queued or leased before is sent now, not in
// an hour.
func TestClockBehind(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		r := newReceiver(t, w.clock, nil)
		e := w.endpoint(r.URL)
		w.queue(3, e)
		w.Update(func(tx *store.Tx) error { // by a sender that crashed
			_, err := tx.LeaseQueues(uuid7.New(), []string{e.ID}, noon, noon.Add(20*time.Second))
			return err
		})
		w.Update(func(tx *store.Tx) error {
			_, err := tx.SenderSeen(uuid7.New(), noon, noon.Add(-presenceLifetime))
			return err
		})
		w.clock.Advance(-time.Hour)
		w.start(r, nil)
		must.Eventually(t, patient, "the deliveries", func() bool { return w.pending() == 0 })
		if r.count() != 3 {
			t.Errorf("%d requests for 3 deliveries", r.count())
		}
	})
}

// TestSharedClock checks that leases are taken by the clock of the database, whatever that of the node says.
func TestSharedClock(t *testing.T) {
	w := newWorld(t, storetest.Open(t, pgtest.Database(t)))
	r := newReceiver(t, w.clock, nil)
	e := w.endpoint(r.URL)
	w.queue(1, e)
	holder := uuid7.New() // another sender that is at work, by the clock of the database
	lease := func() (leased []string) {
		w.Update(func(tx *store.Tx) error {
			now, err := tx.Clock()
			if err != nil {
				return err
			}
			leased, err = tx.LeaseQueues(holder, []string{e.ID}, now, now.Add(20*time.Second))
			return err
		})
		return leased
	}
	lease()
	other := w.queue(1, w.endpoint(r.URL+"/other"))[0]
	w.start(r, func(c *Config) { c.SharedNow = (*store.Tx).Clock })
	must.Eventually(t, patient, "the other delivery", func() bool {
		return w.Delivery(other.ID).Status == webhook.Delivered
	})
	if len(lease()) != 1 {
		t.Error("the queue of another sender was taken")
	}
	if w.pending() != 1 || r.count() != 1 {
		t.Errorf("%d are pending, %d were sent: the lease of another was not kept", w.pending(), r.count())
	}
}

// TestTwoSenders runs two nodes on one PostgreSQL database; the second one joins later.
func TestTwoSenders(t *testing.T) {
	target := pgtest.Database(t)
	first := newWorld(t, storetest.Open(t, target))
	other := *first.Outbox
	other.Store = storetest.Open(t, target)
	second := &world{&outbox.Test{TB: t, Outbox: &other}, first.clock}
	const each = 20
	var inFlight [48]atomic.Int64
	r := newReceiver(t, first.clock, func(_ http.ResponseWriter, req *http.Request) {
		n, err := strconv.Atoi(req.URL.Path[1:])
		if err != nil {
			t.Error(err)
			return
		}
		if running := inFlight[n].Add(1); running > maxInFlightPerEndpoint {
			t.Errorf("%d requests at a time for one endpoint", running)
		}
		time.Sleep(time.Millisecond)
		inFlight[n].Add(-1)
	})
	var endpoints []*webhook.Endpoint
	for i := range inFlight {
		endpoints = append(endpoints, first.endpoint(r.URL+"/"+strconv.Itoa(i)))
	}
	a := first.start(r, nil)
	first.queue(each, endpoints...)
	a.Wake()
	must.Eventually(t, patient, "the first sender at work", func() bool { return r.count() > 0 })
	b := second.start(r, nil)
	must.Eventually(t, patient, "that the second sender is known", func() bool { return !first.everyoneIs(a, endpoints) })
	first.queue(each, endpoints...)
	a.Wake()
	must.Eventually(t, patient, "the end of the backlog", func() bool { return first.pending() == 0 })
	seen := make(map[string]int)
	for _, request := range r.all() {
		seen[request.header.Get("X-LG-Delivery-Id")]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("delivery %s was sent %d times", id, n)
		}
	}
	if len(seen) != 2*each*len(inFlight) {
		t.Errorf("%d deliveries of %d arrived", len(seen), 2*each*len(inFlight))
	}
	if byA, byB := delivered(a), delivered(b); byA+byB != float64(len(seen)) || min(byA, byB) < float64(len(seen))/10 {
		t.Errorf("the work was shared %v to %v", byA, byB)
	}
	a.end()
	first.queue(1, endpoints...)
	b.Wake()
	must.Eventually(t, patient, "that the second sender has taken over", func() bool { return first.pending() == 0 })
}

// everyoneIs reports whether one sender owns all endpoints.
func (w *world) everyoneIs(s *running, endpoints []*webhook.Endpoint) bool {
	for _, e := range endpoints {
		if !s.mine(e.ID) {
			return false
		}
	}
	return true
}

func delivered(r *running) float64 {
	return testutil.ToFloat64(r.metrics.attempts.WithLabelValues(resultDelivered))
}

// TestWakeOtherNodes checks that a node learns of deliveries queued by another.
func TestWakeOtherNodes(t *testing.T) {
	target := pgtest.Database(t)
	w := newWorld(t, storetest.Open(t, target))
	r := newReceiver(t, w.clock, nil)
	s := w.sender(r, nil)
	s.poll = time.Hour
	w.run(s)
	e := w.endpoint(r.URL)
	w.queue(1, e)
	s.Wake() // by the time this has arrived, the sender listens or will look once it does
	must.Eventually(t, patient, "the first delivery", func() bool { return w.pending() == 0 })
	other := storetest.Open(t, target)
	w.queue(1, e)
	if err := other.AnnounceDeliveries(t.Context(), "another node"); err != nil {
		t.Fatal(err)
	}
	must.Eventually(t, patient, "the second delivery", func() bool { return w.pending() == 0 })
}

func TestStoppedEndpoints(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		r := newReceiver(t, w.clock, nil)
		deleted, other := w.endpoint(r.URL+"/deleted"), w.endpoint(r.URL+"/other")
		w.queue(2, deleted, other)
		w.Update(func(tx *store.Tx) error { return tx.DeleteEndpoint(w.Key.ID, deleted.ID, time.Now()) })
		w.queue(1, deleted) // by a transaction that had seen the endpoint
		s := w.start(r, nil)
		must.Eventually(t, patient, "the deliveries", func() bool { return w.pending() == 0 })
		w.Update(func(tx *store.Tx) error {
			_, err := tx.RevokeKey(w.Key.ID, noon)
			return err
		})
		w.clock.Advance(2 * maxCheckAge)
		w.queue(3, other)
		s.Wake()
		must.Eventually(t, patient, "that nothing is left", func() bool { return w.pending() == 0 })
		for _, request := range r.all() {
			if request.path != "/other" {
				t.Errorf("sent to %s", request.path)
			}
		}
		if r.count() != 2 {
			t.Errorf("%d requests", r.count())
		}
	})
}

func TestStop(t *testing.T) {
	w := sqliteWorld(t)
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	r := newReceiver(t, w.clock, func(_ http.ResponseWriter, req *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-req.Context().Done():
		}
	})
	t.Run("LetsAttemptsFinish", func(t *testing.T) {
		s := w.start(r, nil)
		d := w.queue(1, w.endpoint(r.URL+"/finish"))[0]
		s.Wake()
		<-arrived
		s.stop()
		close(release)
		<-s.stopped
		if got := w.Delivery(d.ID); got.Status != webhook.Delivered {
			t.Errorf("after the stop: %+v", got)
		}
	})
	t.Run("GivesBackWhatHangs", func(t *testing.T) {
		release = make(chan struct{})
		s := w.sender(r, nil)
		s.grace = 10 * time.Millisecond
		running := w.run(s)
		e := w.endpoint(r.URL + "/hang")
		d := w.queue(1, e)[0]
		s.Wake()
		<-arrived
		running.end()
		if got := w.Delivery(d.ID); got.Status != webhook.Pending || got.Attempts != 0 || !got.NextAttemptAt.Equal(noon) {
			t.Errorf("after the stop: %+v", got)
		}
		close(release)
		w.start(r, nil)
		must.Eventually(t, patient, "the delivery by the next sender", func() bool {
			return w.Delivery(d.ID).Status == webhook.Delivered
		})
	})
}

// TestUnreadableSecret covers a changed secret key in the settings.
func TestUnreadableSecret(t *testing.T) {
	w := sqliteWorld(t)
	r := newReceiver(t, w.clock, nil)
	e := w.endpoint(r.URL)
	broken := *e
	broken.ID, broken.URL = uuid7.New(), r.URL+"/broken" // the secret is sealed for the other endpoint
	w.Update(func(tx *store.Tx) error { return tx.InsertEndpoint(&broken, broken.URL) })
	all := w.queue(1, e, &broken)
	w.start(r, nil)
	must.Eventually(t, patient, "the one delivery", func() bool {
		return w.Delivery(all[0].ID).Status == webhook.Delivered
	})
	if got := w.Delivery(all[1].ID); got.Status != webhook.Pending || got.Attempts != 0 || r.count() != 1 {
		t.Errorf("attempted without a secret: %+v", got)
	}
}

func TestMetrics(t *testing.T) {
	w := sqliteWorld(t)
	r := newReceiver(t, w.clock, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	registry := prometheus.NewRegistry()
	s := w.sender(r, func(c *Config) { c.Metrics = registry })
	yes, no := w.endpoint(r.URL+"/yes"), w.endpoint(r.URL+"/no")
	w.queue(3, yes, no)
	w.clock.Advance(2 * time.Second)
	if err := testutil.GatherAndCompare(registry, golden(t, "testdata/metrics_before.txt"),
		"assay_webhook_queue_deliveries", "assay_webhook_queue_oldest_due_seconds",
		"assay_webhook_attempts_total"); err != nil {
		t.Error(err)
	}
	w.run(s)
	must.Eventually(t, patient, "the attempts", func() bool {
		_, oldest, err := w.Store.QueueState(t.Context(), w.clock.Now())
		return err == nil && oldest.IsZero() && w.pending() == 3 && testutil.ToFloat64(s.metrics.inFlight) == 0
	})
	if err := testutil.GatherAndCompare(registry, golden(t, "testdata/metrics_after.txt"),
		"assay_webhook_queue_deliveries", "assay_webhook_queue_oldest_due_seconds", "assay_webhook_attempts_total",
		"assay_webhook_attempts_in_flight", "assay_webhook_deliveries_failed_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(s.metrics.seconds); n != 1 {
		t.Errorf("%d histograms", n)
	}
}

func TestAttemptKeepsDeadline(t *testing.T) {
	w := sqliteWorld(t)
	r := newReceiver(t, w.clock, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := w.sender(r, nil)
	aimed, err := s.http.openTarget(w.endpoint(r.URL))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.http.attempt(ctx, aimed, example())
	if err == nil || r.count() != 0 {
		t.Errorf("an attempt of a stopped sender: %v", err)
	}
}
