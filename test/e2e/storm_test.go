package e2e_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/program"
)

const kills = 50

// ledger is a receiver that remembers everything it was sent.
type ledger struct {
	inbox
	bodies   map[string]string // by delivery id
	receipts map[string]int    // by delivery id
	orders   map[string]bool   // whose event has arrived
	changed  []string          // deliveries that came with another body than before
	refused  int               // requests that were not signed as they should be
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{bodies: map[string]string{}, receipts: map[string]int{}, orders: map[string]bool{}}
	l.server = httptest.NewTLSServer(http.HandlerFunc(l.receive))
	t.Cleanup(l.server.Close)
	return l
}

func (l *ledger) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the sender was killed in the middle
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = client.VerifySignature(l.secret, r.Header.Get("X-LG-Timestamp"), r.Header.Get("X-LG-Signature"), body, time.Minute, time.Now())
	if err != nil {
		l.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	delivery, err := client.DecodeWebhook(body)
	if err != nil {
		l.refused++
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := delivery.DeliveryID
	if before, ok := l.bodies[id]; ok && before != string(body) {
		l.changed = append(l.changed, id)
	}
	l.bodies[id] = string(body)
	l.receipts[id]++
	l.orders[delivery.ID] = true
	w.WriteHeader(http.StatusNoContent)
}

func (l *ledger) missing(acknowledged map[string]string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, id := range acknowledged {
		if !l.orders[id] {
			n++
		}
	}
	return n
}

// TestCrash_Storm kills the server at random moments under a stream of orders that complete: every event of every
// acknowledged order arrives, with the same bytes each time, and no delivery is sent more often than its attempts and the
// kills explain.
func TestCrash_Storm(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, settings program.Settings) {
		l := newLedger(t)
		settings["webhook-allow-private"] = "true"
		settings["webhook-ca-file"] = l.certificate(t)
		settings["webhook-timeout"] = "2s"
		settings["webhook-retry-delays"] = "100ms,200ms,400ms"
		s := start(t, settings)
		s.failures = true
		a := s.open(t)
		hook, err := s.client(t, a.Test).CreateWebhook(t.Context(), client.CreateWebhook{URL: l.server.URL, Events: []client.WebhookEvent{client.EventOrderOutcome}})
		if err != nil {
			t.Fatal(err)
		}
		l.open(hook.SigningSecret)

		moments := rand.New(rand.NewPCG(1, 2))
		acknowledged := map[string]string{}
		for kill := range kills {
			shopping := rehearse(t, s, a, kill)
			shopping.await(t, 1)
			time.Sleep(time.Duration(moments.IntN(150)) * time.Millisecond) // the moment is what this test is about
			s.Kill(t)
			shopping.stop(acknowledged)
			s = s.again(t)
			s.failures = true
		}
		eventually(t, 90*time.Second, "every event has arrived", func() bool { return l.missing(acknowledged) == 0 })

		l.mu.Lock()
		defer l.mu.Unlock()
		if l.refused > 0 || len(l.changed) > 0 {
			t.Errorf("%d deliveries were not signed as they should be; other bytes than before came with %q", l.refused, l.changed)
		}
		again := 0
		for id, n := range l.receipts {
			again += n - 1
			if n > 1+kills { // it was acknowledged each time: only a kill can keep that from being written down
				t.Errorf("delivery %s came %d times", id, n)
			}
		}
		t.Logf("%d acknowledged orders, %d deliveries, %d of them came again", len(acknowledged), len(l.receipts), again)
	})
}
