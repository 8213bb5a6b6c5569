// Package receiver takes webhook deliveries over TLS, for tests of a program that is killed and started again.
package receiver

import (
	"crypto/tls"
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
	"github.com/assayhq/assay/internal/testkit/expect"
	"github.com/assayhq/assay/internal/testkit/must"
)

// Arrival is a delivery that the receiver got.
type Arrival struct {
	OrderID      string
	Body         string
	Count        int
	First, Last  time.Time
	Acknowledged bool // at least once
	Again        int  // times after it was acknowledged
}

// Receiver accepts deliveries, checks their signatures, and refuses the first attempt of some.
type Receiver struct {
	URL       string
	CAFile    string        // the certificate of the receiver, for --webhook-ca-file
	Tolerance time.Duration // of timestamps; 0: that of the client

	mu         sync.Mutex
	secrets    map[string]string   // by path
	deliveries map[string]*Arrival // by delivery id
	orders     map[string][]string // order id and event → delivery ids
	problems   expect.Problems
}

// Start listens at an address of this machine, with a certificate of its own.
func Start(t *testing.T, address string) *Receiver {
	t.Helper()
	certificate, authority := must.SelfSigned(t, net.ParseIP(address))
	r := &Receiver{
		secrets: make(map[string]string), deliveries: make(map[string]*Arrival), orders: make(map[string][]string),
		CAFile: filepath.Join(t.TempDir(), "ca.pem"),
	}
	must.NoError(t, os.WriteFile(r.CAFile, authority, 0o600))
	l, err := tls.Listen("tcp", net.JoinHostPort(address, "0"),
		&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	must.NoError(t, err)
	r.URL = "https://" + l.Addr().String()
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

// Register tells the secret with which deliveries to a path are signed.
func (r *Receiver) Register(path, secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = secret
}

// ServeHTTP takes a delivery.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was killed
	}
	if !r.take(req, body) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// take records a delivery and reports whether to acknowledge it.
func (r *Receiver) take(req *http.Request, body []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	header := req.Header
	if err := client.VerifySignature(r.secrets[req.URL.Path], header.Get(client.HeaderTimestamp),
		header.Get(client.HeaderSignature), body, r.Tolerance, time.Now()); err != nil {
		r.problems.Add("signature: %v", err)
	}
	d, err := client.DecodeWebhook(body)
	if err != nil {
		r.problems.Add("body: %v", err)
		return true
	}
	id := header.Get(client.HeaderDeliveryID)
	if d.DeliveryID != id || string(d.Event) != header.Get(client.HeaderEvent) {
		r.problems.Add("headers %v of body %s", header, body)
	}
	a := r.deliveries[id]
	if a == nil {
		a = &Arrival{OrderID: d.ID, Body: string(body), First: time.Now()}
		r.deliveries[id] = a
		event := d.ID + " " + string(d.Event)
		r.orders[event] = append(r.orders[event], id)
	}
	a.Count++
	a.Last = time.Now()
	if a.Body != string(body) {
		r.problems.Add("delivery %s has two bodies:\n%s\n%s", id, a.Body, body)
	}
	if a.Acknowledged {
		a.Again++
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	if a.Count > 1 || h.Sum32()%5 != 0 {
		a.Acknowledged = true
		return true
	}
	return false
}

// Acknowledged reports whether a delivery has arrived for good.
func (r *Receiver) Acknowledged(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.deliveries[id]
	return a != nil && a.Acknowledged
}

// Of returns the delivery ids of an event of an order.
func (r *Receiver) Of(orderID, event string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.orders[orderID+" "+event]
}

// Again counts requests that came after the delivery was acknowledged: delivery is at least once.
func (r *Receiver) Again() (n int) {
	for _, a := range r.Arrivals() {
		n += a.Again
	}
	return n
}

// Arrivals returns the deliveries so far, by their ids.
func (r *Receiver) Arrivals() map[string]Arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]Arrival, len(r.deliveries))
	for id, a := range r.deliveries {
		all[id] = *a
	}
	return all
}

// Report fails the test for every delivery that is not as it has to be.
func (r *Receiver) Report(t testing.TB) {
	t.Helper()
	r.problems.Report(t, "a delivery")
}
