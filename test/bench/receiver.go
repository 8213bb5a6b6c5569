package main

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/client"
)

// hangPath is where the receiver does not answer until it is told to.
const hangPath = "/hang"

// receiver receives webhooks. Every delivery is counted; those of endpoints with a known secret are verified.
type receiver struct {
	*httptest.Server
	received atomic.Int64 // without hanging requests
	hanging  atomic.Int64
	arrived  chan time.Time
	release  atomic.Pointer[chan struct{}] // closed to release hanging requests

	mu      sync.Mutex
	secret  string                   // empty: nothing is verified
	waiting map[string]chan struct{} // by the id of an order
	refused error
}

// newReceiver starts a receiver until the end of the part.
func (s *suite) newReceiver() *receiver {
	r := &receiver{arrived: make(chan time.Time, 1), waiting: make(map[string]chan struct{})}
	r.hang()
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(r.receive))
	r.EnableHTTP2 = true
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.StartTLS()
	s.later(func() error { r.Close(); return nil })
	return r
}

func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	now := time.Now()
	if strings.HasPrefix(request.URL.Path, hangPath) {
		_, _ = io.Copy(io.Discard, request.Body)
		r.hanging.Add(1)
		defer r.hanging.Add(-1)
		select {
		case <-*r.release.Load():
		case <-request.Context().Done():
		}
		return
	}
	if !r.verify(request) {
		http.Error(w, "refused", http.StatusBadRequest)
		return
	}
	r.received.Add(1)
	select {
	case r.arrived <- now:
	default:
	}
}

// verify reads the delivery, and checks its signature where the secret is known.
func (r *receiver) verify(request *http.Request) bool {
	r.mu.Lock()
	secret := r.secret
	r.mu.Unlock()
	if secret == "" {
		_, _ = io.Copy(io.Discard, request.Body)
		return true
	}
	delivery, err := client.ParseWebhook(request, secret)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.refused = err
		return false
	}
	if done, ok := r.waiting[delivery.ID]; ok {
		delete(r.waiting, delivery.ID)
		close(done)
	}
	return true
}

// await returns a channel that is closed when the order's delivery arrives.
func (r *receiver) await(orderID string) <-chan struct{} {
	done := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[orderID] = done
	return done
}

// hang makes requests to hangPath wait until goOn.
func (r *receiver) hang() {
	release := make(chan struct{})
	r.release.Store(&release)
}

func (r *receiver) goOn() { close(*r.release.Load()) }

func (r *receiver) cas() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	return pool
}

// settings returns those of a program that may deliver here.
func (r *receiver) settings(folder string) ([]string, error) {
	file := filepath.Join(folder, "receiver.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	return []string{
		"ASSAY_WEBHOOK_ALLOW_PRIVATE=true", "ASSAY_WEBHOOK_CA_FILE=" + file,
	}, os.WriteFile(file, text, 0o600)
}
