package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

const testKey = "assay_test_0123456789abcdefghijABCDEFGHIJ0123456789"

// service is a scripted server: it records requests and sends the given answers in order.
type service struct {
	t      *testing.T
	url    string // base URL
	mu     sync.Mutex
	script []http.HandlerFunc
	seen   []seenRequest
	slept  []time.Duration
}

// seenRequest is a request as it was on the wire.
type seenRequest struct {
	Method string
	URI    string
	Header http.Header
	Body   string
}

func newService(t *testing.T, script ...http.HandlerFunc) *service {
	t.Helper()
	s := &service{t: t, script: script}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL + "/v1/integrations"
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Logf("read request: %v", err)
	}
	s.mu.Lock()
	turn := len(s.seen)
	s.seen = append(s.seen, seenRequest{Method: r.Method, URI: r.RequestURI, Header: r.Header, Body: string(body)})
	s.mu.Unlock()
	if turn >= len(s.script) {
		s.t.Errorf("request %d (%s %s) has no answer in the script", turn+1, r.Method, r.RequestURI)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.script[turn](w, r)
}

// client returns a client that records waits instead of sleeping, without random backoff.
func (s *service) client(opts ...client.Option) *client.Client {
	s.t.Helper()
	c, err := client.New(s.url, testKey, append([]client.Option{
		client.WithSleep(s.sleep),
		client.WithRandom(func() float64 { return 0 }),
	}, opts...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *service) sleep(ctx context.Context, d time.Duration) error {
	s.slept = append(s.slept, d)
	return ctx.Err()
}

func (s *service) requests() []seenRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// only returns the single request that the service saw.
func (s *service) only() seenRequest {
	s.t.Helper()
	seen := s.requests()
	if len(seen) != 1 {
		s.t.Fatalf("the service saw %d requests, want 1", len(seen))
	}
	return seen[0]
}

// answer writes a status and a body.
func answer(status int, body string) http.HandlerFunc {
	return answerWith(status, body, nil)
}

// answerWith writes a status and a body with headers.
func answerWith(status int, body string, headers map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// cutOff promises a longer body than it sends.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"data":[`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}
