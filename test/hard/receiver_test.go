package hard_test

import (
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
)

// arrival is a delivery that the receiver got.
type arrival struct {
	body         string
	count        int
	acknowledged bool // at least once
	again        int  // times after it was acknowledged
}

// receiver accepts deliveries, checks their signatures, and refuses the first attempt of some.
type receiver struct {
	url    string
	caFile string

	mu         sync.Mutex
	secrets    map[string]string   // by path
	deliveries map[string]*arrival // by delivery id
	orders     map[string][]string // order id and event → delivery ids
	problems   []string
}

// newReceiver listens at an address of this machine, with a certificate of its own.
func newReceiver(t *testing.T, address string) *receiver {
	t.Helper()
	certificate, authority := must.SelfSigned(t, net.ParseIP(address))
	r := &receiver{
		secrets: make(map[string]string), deliveries: make(map[string]*arrival), orders: make(map[string][]string),
		caFile: filepath.Join(t.TempDir(), "ca.pem"),
	}
	if err := os.WriteFile(r.caFile, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", net.JoinHostPort(address, "0"),
		&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	r.url = "https://" + l.Addr().String()
	server := &http.Server{
		Handler: r, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // connections of senders that were killed
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return r
}

// register tells the secret with which deliveries to a path are signed.
func (r *receiver) register(path, secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = secret
}

// ServeHTTP takes a delivery.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was killed
	}
	if !r.take(req, body) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// take records a delivery and reports whether to acknowledge it.
func (r *receiver) take(req *http.Request, body []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	problem := func(format string, args ...any) {
		if len(r.problems) < wrongKept {
			r.problems = append(r.problems, fmt.Sprintf(format, args...))
		}
	}
	header := req.Header
	// The tolerance is that of nodes with a wrong clock; that the timestamp is signed is what matters here.
	if err := client.VerifySignature(r.secrets[req.URL.Path], header.Get(client.HeaderTimestamp),
		header.Get(client.HeaderSignature), body, 3*time.Hour, time.Now()); err != nil {
		problem("signature: %v", err)
	}
	d, err := client.DecodeWebhook(body)
	if err != nil {
		problem("body: %v", err)
		return true
	}
	id := header.Get(client.HeaderDeliveryID)
	if d.DeliveryID != id || string(d.Event) != header.Get(client.HeaderEvent) {
		problem("headers %v of body %s", header, body)
	}
	a := r.deliveries[id]
	if a == nil {
		a = &arrival{body: string(body)}
		r.deliveries[id] = a
		event := d.ID + " " + string(d.Event)
		r.orders[event] = append(r.orders[event], id)
	}
	a.count++
	if a.body != string(body) {
		problem("delivery %s has two bodies:\n%s\n%s", id, a.body, body)
	}
	if a.acknowledged {
		a.again++
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	if a.count > 1 || h.Sum32()%5 != 0 {
		a.acknowledged = true
		return true
	}
	return false
}

// acknowledged reports whether a delivery has arrived for good.
func (r *receiver) acknowledged(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.deliveries[id]
	return a != nil && a.acknowledged
}

// of returns the delivery ids of an event of an order.
func (r *receiver) of(orderID, event string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.orders[orderID+" "+event]
}

// again counts requests that came after the delivery was acknowledged: delivery is at least once.
func (r *receiver) again() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.deliveries {
		n += a.again
	}
	return n
}

// report fails the test for every delivery that is not as it has to be.
func (r *receiver) report(t testing.TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems {
		t.Errorf("a delivery: %s", p)
	}
}
