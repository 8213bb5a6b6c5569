package deliver

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/outbox"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// patient is how long tests wait for a condition.
const patient = 2 * time.Minute

// received is a request that a receiver got.
type received struct {
	path   string
	header http.Header
	body   string
}

// receiver is a real TLS server. It checks the signature of every request that has one.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
}

// newReceiver starts a receiver; answer may be nil for 200.
func newReceiver(t testing.TB, clock *fakeclock.Clock, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := new(receiver)
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		if req.Header.Get("Authorization") == "" {
			if err := client.VerifySignature(outbox.Secret, req.Header.Get(client.HeaderTimestamp),
				req.Header.Get(client.HeaderSignature),
				body, time.Second, clock.Now()); err != nil {
				t.Errorf("signature of %s: %v", req.URL, err)
			}
		}
		r.mu.Lock()
		r.got = append(r.got, received{req.URL.Path, req.Header, string(body)})
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
		}
	}))
	r.EnableHTTP2 = true
	r.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that fail on purpose
	r.StartTLS()
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

func (r *receiver) count() int { return len(r.all()) }

// CAs trusts the receiver; all test servers have the same certificate.
func (r *receiver) CAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	return pool
}

// world is a database with an account, and a clock.
type world struct {
	*outbox.Test
	clock *fakeclock.Clock
}

func newWorld(t testing.TB, s *store.Store) *world {
	t.Helper()
	return &world{outbox.NewTest(t, s), fakeclock.New(noon)}
}

// eachWorld runs the test over every engine.
func eachWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, newWorld(t, s)) })
}

// sqliteWorld is for tests that do not depend on the database.
func sqliteWorld(t testing.TB) *world {
	t.Helper()
	return newWorld(t, storetest.Open(t, storetest.SQLite(t)))
}

func (w *world) endpoint(url string) *webhook.Endpoint {
	w.Helper()
	return w.Endpoint(url, nil)
}

// queue queues n events for each endpoint, due now.
func (w *world) queue(n int, endpoints ...*webhook.Endpoint) []*webhook.Delivery {
	w.Helper()
	return w.Queue(endpoints, n, w.clock.Now())
}

// pending returns the number of pending deliveries.
func (w *world) pending() int {
	w.Helper()
	n, _, err := w.Store.QueueState(w.Context(), w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	return int(n)
}

// running is a running sender.
type running struct {
	*Sender
	stop    context.CancelFunc
	stopped chan struct{}
}

// sender returns a sender that trusts the receiver and may call it; change may be nil.
func (w *world) sender(r *receiver, change func(*Config)) *Sender {
	c := Config{
		Store: w.Store, Secrets: w.Secrets, Guard: &netguard.Guard{AllowPrivate: true},
		Schedule: webhook.DefaultSchedule(), Timeout: 10 * time.Second, Now: w.clock.Now,
		Log: slog.New(slog.DiscardHandler), Jitter: func() float64 { return 0.5 },
	}
	if r != nil {
		c.RootCAs = r.CAs()
	}
	if change != nil {
		change(&c)
	}
	return New(c)
}

// run runs a sender until the test ends.
func (w *world) run(s *Sender) *running {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Sender: s, stop: stop, stopped: make(chan struct{})}
	go func() {
		defer close(r.stopped)
		if err := s.Run(ctx); err != nil {
			w.Errorf("Run: %v", err)
		}
	}()
	w.Cleanup(r.end)
	return r
}

// end stops the sender and waits for it.
func (r *running) end() {
	r.stop()
	<-r.stopped
}

// start combines sender and run.
func (w *world) start(r *receiver, change func(*Config)) *running { return w.run(w.sender(r, change)) }

// golden opens a file of expected output.
func golden(t testing.TB, path string) io.Reader {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(content)
}
