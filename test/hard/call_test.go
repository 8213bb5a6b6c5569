package hard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/testkit/expect"
)

const (
	apiPrefix  = "/v1/integrations"
	deskPrefix = "/v1/desk"

	callTimeout = time.Minute
)

// answer is what came of a request.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // no answer
}

// done reports whether the request was carried out.
func (a *answer) done() bool { return a.err == nil && a.status/100 == 2 }

// late reports whether the client has given up.
func (a *answer) late() bool {
	var timeout net.Error
	return errors.As(a.err, &timeout) && timeout.Timeout()
}

// unknown reports whether the request may or may not have been carried out.
func (a *answer) unknown() bool { return a.err != nil || a.status >= 500 }

func (a *answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %s", a.status, bytes.TrimSpace(a.body))
}

// decode reads the JSON of an answer.
func (a *answer) decode(t testing.TB, to any) {
	t.Helper()
	if err := json.Unmarshal(a.body, to); err != nil {
		t.Errorf("%v: %s", err, a.body)
	}
}

// node is a server that may be down, and that has another address after every start.
type node struct {
	address atomic.Pointer[string] // host:port
	client  *http.Client
	broken  atomic.Bool // it may give no answer
	remote  bool        // or none in time: its connections can die without a word
}

func newNode(timeout time.Duration) *node {
	return &node{client: &http.Client{
		Timeout: timeout, Transport: &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (n *node) moveTo(address string) {
	n.client.CloseIdleConnections()
	n.address.Store(&address)
}

// request is one request to an API.
type request struct {
	method, path, token string
	body                []byte
	contentType         string
	idempotencyKey      string
	cookie              string // of a session
}

func jsonBody(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of this package
	}
	return body
}

// send sends a request and reads its answer, whatever becomes of it.
func (n *node) send(ctx context.Context, r *request) *answer {
	req, err := http.NewRequestWithContext(ctx, r.method, "http://"+*n.address.Load()+r.path, bytes.NewReader(r.body))
	if err != nil {
		return &answer{err: err}
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", r.idempotencyKey)
	}
	if r.cookie != "" {
		req.Header.Set("Cookie", r.cookie)
	}
	resp, err := n.client.Do(req)
	if err != nil {
		return &answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &answer{status: resp.StatusCode, header: resp.Header, body: body, err: err}
}

// photoForm is the body of an upload of one file.
func photoForm(content []byte) (body []byte, contentType string) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("photos", "photo.png")
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer
	}
	return form.Bytes(), w.FormDataContentType()
}

// tally counts answers by kind, and keeps those that must not be.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	wrong  expect.Problems
}

// count takes an answer into account. Conflicts (409) are answers like others where several act at once; no answer is
// one of a node that is broken.
func (c *tally) count(r *request, a *answer, broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int)
	}
	kind := "no answer"
	if a.err == nil {
		kind = fmt.Sprint(a.status)
	}
	c.counts[kind]++
	ok := (a.err != nil && broken) || a.done() || a.status == http.StatusConflict ||
		(a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "")
	if !ok {
		c.wrong.Add("%s %s: %s", r.method, r.path, a)
	}
}

// String lists the kinds of answers, for example 201 × 1200, 503 × 3.
func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.counts)) {
		parts = append(parts, fmt.Sprintf("%s × %d", kind, c.counts[kind]))
	}
	return strings.Join(parts, ", ")
}

// of returns how often a kind of answer came.
func (c *tally) of(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[kind]
}

// report fails the test for every answer that must not be.
func (c *tally) report(t testing.TB) {
	t.Helper()
	c.wrong.Report(t, "an answer that must not be")
}

// metric returns the sum of a metric over its labels, at an operations listener.
func metric(t testing.TB, ops, name string) int64 {
	t.Helper()
	n := newNode(callTimeout)
	n.moveTo(ops)
	a := n.send(t.Context(), &request{method: http.MethodGet, path: "/metrics"})
	if !a.done() {
		t.Fatal(a)
	}
	sum := 0.0
	for line := range strings.Lines(string(a.body)) {
		rest, found := strings.CutPrefix(line, name)
		if !found || (rest[0] != ' ' && rest[0] != '{') {
			continue
		}
		fields := strings.Fields(rest)
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		sum += value
	}
	return int64(sum)
}
