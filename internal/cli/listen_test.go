package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/cli"
)

// listener is a service whose events no endpoint was told of, and a receiver that assay listen forwards them to.
type listener struct {
	home         string // of the state
	service      string // its address
	order        string // id of the order of all events
	oldest, last int    // the events after oldest, up to last, are kept

	mu      sync.Mutex
	asked   int
	finding int      // questions that may be where to begin
	ids     []string // that were received
	want    int
	stop    func()
}

// events answers GET /events as the service does. It ends the command when that has all events and asks for more.
func (l *listener) events(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	after := l.oldest
	if text := r.FormValue("after"); text != "" {
		after, _ = strconv.Atoi(text)
	}
	w.Header().Set("Content-Type", "application/json")
	if after < l.oldest || after > l.last {
		w.WriteHeader(http.StatusGone)
		_, _ = fmt.Fprintf(w, `{"statusCode":410,"code":"cursor-expired","message":"Gone.","details":{"oldest_cursor":"%d"}}`,
			l.oldest)
		return
	}
	events := []any{}
	for n := after + 1; n <= l.last; n++ {
		events = append(events, map[string]any{
			"cursor": strconv.Itoa(n), "webhook_event": "order-outcome", "delivery_ids": []string{},
			"created_at": time.Unix(int64(n), 0).UTC(),
			"body":       map[string]any{"webhook_event": "order-outcome", "id": l.order, "status": "completed"},
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": events, "next_cursor": strconv.Itoa(l.last)})
	if after == l.last && l.asked > l.finding && len(l.ids) == l.want {
		l.stop()
	}
}

func (l *listener) receive(t *testing.T, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	var delivery client.WebhookDelivery
	if err := json.Unmarshal(body, &delivery); err != nil || delivery.DeliveryID != r.Header.Get(client.HeaderDeliveryID) {
		t.Errorf("%s has the id %s, %v", body, r.Header.Get(client.HeaderDeliveryID), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, delivery.DeliveryID)
}

// newListener starts the service, with no event yet.
func newListener(t *testing.T, order string) *listener {
	t.Helper()
	l := &listener{home: t.TempDir(), order: order, oldest: 3, last: 3}
	service := httptest.NewServer(http.HandlerFunc(l.events))
	t.Cleanup(service.Close)
	l.service = service.URL
	return l
}

// run runs the command until it has forwarded n events, and returns their ids and what it says.
func (l *listener) run(t *testing.T, n int, args ...string) (ids []string, stderr string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	l.asked, l.finding, l.ids, l.want, l.stop = 0, 1+len(args), nil, n, stop
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { l.receive(t, r) }))
	defer receiver.Close()
	environment := map[string]string{
		"ASSAY_CONFIG": filepath.Join(l.home, "config.json"), "ASSAY_SERVER": l.service, "ASSAY_KEY": "assay_test_any",
	}
	var said bytes.Buffer
	code := cli.Run(ctx, append([]string{"listen", "--forward-to", receiver.URL}, args...), cli.IO{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &said,
		LookupEnv: func(name string) (string, bool) {
			value, ok := environment[name]
			return value, ok
		},
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if code != 0 || len(l.ids) != n {
		t.Fatalf("the command ends with %d after %d events, want %d: %s", code, len(l.ids), n, said.String())
	}
	return l.ids, said.String()
}

// TestListen_Ids checks that events without a delivery are forwarded under ids that are UUIDs, stay the same, and are
// those of no other event.
func TestListen_Ids(t *testing.T) {
	l := newListener(t, "0199c3a2-91f4-7d20-b6c8-3e5a7f1d2b40")
	l.run(t, 0)
	l.last = 5
	first, _ := l.run(t, 2)
	l.home = t.TempDir() // somebody else, who listens since the same time
	l.last = 3
	l.run(t, 0)
	l.last = 5
	if again, _ := l.run(t, 2); !slices.Equal(first, again) {
		t.Errorf("the ids are %v, then %v", first, again)
	}
	other := newListener(t, "0199c3a2-91f4-7d20-b6c8-3e5a7f1d2b41") // of another key or server, at the same cursors
	other.run(t, 0)
	other.last = 5
	others, _ := other.run(t, 2)
	seen := make(map[string]bool)
	for _, id := range append(first, others...) {
		if parsed, err := uuid.Parse(id); err != nil || parsed.Variant() != uuid.RFC4122 || seen[id] {
			t.Errorf("the id %s: %v; seen before: %t", id, err, seen[id])
		}
		seen[id] = true
	}
}

// TestListen_Expired checks that the command says that events are lost and goes on with those that are kept.
func TestListen_Expired(t *testing.T) {
	l := newListener(t, "0199c3a2-91f4-7d20-b6c8-3e5a7f1d2b40")
	l.run(t, 0)
	l.oldest, l.last = 7, 9
	if _, stderr := l.run(t, 2); !strings.Contains(stderr, "events are lost") {
		t.Errorf("it says: %s", stderr)
	}
	l.oldest, l.last = 12, 12
	if _, stderr := l.run(t, 0); !strings.Contains(stderr, "events are lost") {
		t.Errorf("where nothing is kept it says: %s", stderr)
	}
	l.last = 13
	if _, stderr := l.run(t, 1); strings.Contains(stderr, "events are lost") {
		t.Errorf("the cursor was not saved: %s", stderr)
	}
}

// transport answers requests in place of the network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// useTransport makes a transport that of all requests until the test ends.
func useTransport(t *testing.T, used http.RoundTripper) {
	t.Helper()
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	http.DefaultTransport = used
}

// listenTo runs the command with a service and a receiver that it reaches without a network.
func listenTo(
	ctx context.Context, t *testing.T, service, receiver http.HandlerFunc, stdout io.Writer, args ...string,
) (code int, stderr string) {
	t.Helper()
	useTransport(t, transport(func(r *http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder()
		if r.URL.Host == "receiver.example" {
			receiver(answer, r)
		} else {
			service(answer, r)
		}
		return answer.Result(), nil
	}))
	environment := map[string]string{
		"ASSAY_CONFIG": filepath.Join(t.TempDir(), "config.json"), "ASSAY_SERVER": "http://service.example",
		"ASSAY_KEY": "assay_test_any",
	}
	var said bytes.Buffer
	code = cli.Run(ctx, append([]string{"listen", "--forward-to", "http://receiver.example"}, args...), cli.IO{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: &said,
		LookupEnv: func(name string) (string, bool) {
			value, ok := environment[name]
			return value, ok
		},
	})
	return code, said.String()
}

// TestListen_Quota checks that the search for the newest event leaves half of the key's quota to its other users.
func TestListen_Quota(t *testing.T) {
	const limit, pages = 300, 1000
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var window time.Time
		asked, used, most := 0, 0, 0
		code, stderr := listenTo(ctx, t, func(w http.ResponseWriter, _ *http.Request) {
			if time.Since(window) >= time.Minute {
				window, used = time.Now(), 0
			}
			asked, used = asked+1, used+1
			most = max(most, used)
			w.Header().Set("X-RateLimit-Limit", strconv.Itoa(limit))
			w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(limit-used))
			var page []string
			for n := 100 * asked; n < 100*asked+100 && asked < pages; n++ {
				page = append(page, fmt.Sprintf(`{"cursor":"%d","webhook_event":"order-outcome","body":{}}`, n))
			}
			_, _ = fmt.Fprintf(w, `{"data":[%s],"next_cursor":"%d"}`, strings.Join(page, ","), 100*asked)
			if asked > pages {
				stop()
			}
		}, func(http.ResponseWriter, *http.Request) { t.Error("an old event is forwarded") }, io.Discard)
		if code != 0 || asked != pages+1 || most > limit*6/10 {
			t.Errorf("status %d, %d pages, %d of them in a minute", code, asked, most)
		}
		if strings.Count(stderr, "looking for the newest event") != 1 {
			t.Errorf("it says %q", stderr)
		}
	})
}

// oneEvent is a service with an event that has come since the command began.
func oneEvent(stop func()) http.HandlerFunc {
	asked := 0
	return func(w http.ResponseWriter, r *http.Request) {
		asked++
		data := ""
		if asked == 2 {
			data = `{"cursor":"2","webhook_event":"order-outcome","body":{"id":"o1"}}`
		}
		if asked > 2 {
			stop()
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s],"next_cursor":"%d"}`, data, min(asked, 2))
	}
}

// TestListen_RefusedEvent checks that the command says how to go on without an event that the receiver does not take.
func TestListen_RefusedEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		attempts := 0
		code, stderr := listenTo(ctx, t, oneEvent(stop), func(w http.ResponseWriter, _ *http.Request) {
			if attempts++; attempts <= 6 {
				w.WriteHeader(http.StatusBadRequest)
			}
		}, io.Discard)
		lines := strings.Split(stderr, "\n")
		if code != 0 || attempts != 7 || strings.Count(stderr, "--newest") != 2 || strings.Contains(lines[4], "--newest") {
			t.Errorf("status %d after %d attempts, says\n%s", code, attempts, stderr)
		}
	})
}

// TestListen_Newest checks that the flag passes over what was not forwarded, and keeps the secret.
func TestListen_Newest(t *testing.T) {
	l := newListener(t, "0199c3a2-91f4-7d20-b6c8-3e5a7f1d2b40")
	_, first := l.run(t, 0)
	l.last = 5
	_, second := l.run(t, 0, "--newest")
	secret := func(said string) string { return said[strings.LastIndex(said, " ")+1:] }
	if secret(first) != secret(second) || !strings.Contains(second, "looking for the newest event") {
		t.Errorf("it says %q, then %q", first, second)
	}
	l.last = 6
	l.run(t, 1)
	l.oldest, l.last = 9, 9 // what follows the cursor is lost
	l.run(t, 0, "--newest")
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestListen_Output checks that the command does not end in silence when it cannot write what it has forwarded.
func TestListen_Output(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	code, stderr := listenTo(ctx, t, oneEvent(stop), func(http.ResponseWriter, *http.Request) {}, fullDisk{})
	if code != 1 || !strings.Contains(stderr, "no space left") {
		t.Errorf("status %d, says %q", code, stderr)
	}
}
