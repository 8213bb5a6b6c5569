package hard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/internal/testkit/program"
)

const (
	fuzzers    = 8
	fuzzBudget = 6 * time.Minute // of the long form

	// How much a server may have more of after all requests than after the first tenth of them.
	grownGoroutines  = 100
	grownDescriptors = 100
	grownMemory      = 256 << 20
)

// hunt is what the fuzzers of a run share.
type hunt struct {
	*site
	t          *testing.T
	client     *http.Client
	base       string
	operations []operation
	photo      string

	mu  sync.Mutex
	ids []string // of what is there

	sent, accepted atomic.Int64
}

// TestFuzz sends requests that were mutated from the documents of both APIs: none is answered with 5xx, no answer is
// outside of the document, and the server does not grow.
func TestFuzz(t *testing.T) {
	_, seed := newRandom(t)
	s, server := startLoaded(t, program.Settings{"auth-failure-limit": "1000000000"})
	h := &hunt{site: s, t: t, base: server.URL(""), ids: []string{"known"}}
	h.photo = s.upload(t.Context(), s.nodes[0], s.live)
	for _, op := range api.Integration().Operations {
		h.operations = append(h.operations, operation{op, apiPrefix})
	}
	for _, op := range api.Desk().Operations {
		h.operations = append(h.operations, operation{op, deskPrefix})
	}
	pool := &http.Transport{MaxIdleConnsPerHost: fuzzers}
	h.client = &http.Client{
		Transport: apitest.New(t).Transport(apitest.NewDesk(t).Transport(pool)), Timeout: 2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	total := int64(pick(3_000, 1_000_000))
	began := time.Now()
	h.run(seed, 0, total/10, began.Add(pick(time.Hour, fuzzBudget/5)))
	goroutines, descriptors := metric(t, server.Ops, "go_goroutines"), metric(t, server.Ops, "process_open_fds")
	memory := resident(t, server.PID())
	h.run(seed, 1, total, began.Add(pick(time.Hour, fuzzBudget)))
	took := time.Since(began)
	var grown, opened int64
	more := 0
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) { // the last deliveries end
		grown = metric(t, server.Ops, "go_goroutines") - goroutines
		opened = metric(t, server.Ops, "process_open_fds") - descriptors
		more = resident(t, server.PID()) - memory
		if grown <= grownGoroutines && opened <= grownDescriptors && more <= grownMemory {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%d more goroutines, %d more descriptors, %s more memory", grown, opened, mib(more))
			break
		}
	}
	result := s.Run(t, "check", "--deep")
	if result.ExitCode != 0 {
		t.Errorf("assay check: %s", result.Stdout)
	}
	figure(t, "Fuzz",
		fmt.Sprintf("%d requests mutated from `api/openapi.yaml` and `api/desk.yaml` in %s, %d of them accepted",
			h.sent.Load(), took.Round(time.Second), h.accepted.Load()),
		fmt.Sprintf("no 5xx, no answer outside of the documents; since the first tenth %+d goroutines, %+d descriptors, "+
			"%+d MiB (%s); `check --deep` ok", grown, opened, more>>20, mib(memory+more)))
}

// run sends requests until so many were sent in all, or until a time, or a failure.
func (h *hunt) run(seed, round uint64, until int64, deadline time.Time) {
	var running sync.WaitGroup
	for w := range uint64(fuzzers) {
		f := &fuzzer{hunt: h, random: rand.New(rand.NewPCG(seed, round*fuzzers+w+1))}
		running.Go(func() {
			for !h.t.Failed() && time.Now().Before(deadline) && h.sent.Add(1) <= until {
				f.one()
			}
		})
	}
	running.Wait()
	h.sent.Store(min(h.sent.Load(), until)) // who came last did not send
}

// learn takes the id of what was made, so that later requests are about it.
func (h *hunt) learn(body []byte) {
	var made struct {
		ID         string
		ExternalID string `json:"external_id"`
	}
	if json.Unmarshal(body, &made) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range []string{made.ID, made.ExternalID} {
		if id != "" && !slices.Contains(h.ids, id) {
			h.ids = append(h.ids, id)
		}
	}
	if n := len(h.ids); n > 200 {
		h.ids = h.ids[n-100:]
	}
}

// one sends a request and looks at its answer; the transport holds it against the document.
func (f *fuzzer) one() {
	req, sent, err := f.request()
	if err != nil {
		return // net/http does not send it
	}
	resp, err := f.client.Do(req)
	if err != nil {
		f.t.Errorf("%s %s: %v\n%s", req.Method, req.URL, err, shown(sent))
		return
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	switch {
	case err != nil || resp.StatusCode >= http.StatusInternalServerError:
		f.t.Errorf("%s %s: %s %s %v", req.Method, req.URL, resp.Status, body, err)
	case resp.StatusCode < http.StatusMultipleChoices:
		f.accepted.Add(1)
		if req.Method == http.MethodPost {
			f.learn(body)
		}
	}
	if f.t.Failed() {
		f.t.Logf("the request, or one beside it, was\n%s %s %v\n%s", req.Method, req.URL, req.Header, shown(sent))
	}
}

// shown is the beginning of a body for a message.
func shown(body []byte) string {
	const most = 4 << 10
	return strings.ToValidUTF8(string(body[:min(len(body), most)]), "\uFFFD")
}

// photoBody is an upload of one to three photos, some of which are no photos.
func (f *fuzzer) photoBody() (body []byte, contentType string) {
	content := f.newPhoto()
	if f.random.IntN(4) == 0 {
		content = content[:f.random.IntN(len(content))]
	}
	if f.random.IntN(8) == 0 {
		content = bytes.Repeat([]byte("x"), f.random.IntN(1<<16))
	}
	return photoForm(content)
}
