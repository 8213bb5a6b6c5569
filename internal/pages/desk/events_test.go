package desk_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

// stream opens the events of a signed-in browser and returns its lines.
func stream(t *testing.T, w *world, v *pagetest.Visitor) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Server.URL+"/desk/events", nil)
	must.NoError(t, err)
	r.AddCookie(v.Cookies["assay_desk"])
	res, err := http.DefaultClient.Do(r)
	must.NoError(t, err)
	t.Cleanup(func() { cancel(); _ = res.Body.Close() })
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("the events are %q", got)
	}
	out := make(chan string, 100)
	go func() {
		defer close(out)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out
}

func await(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream has ended before %q", want)
			}
			if strings.Contains(line, want) {
				return
			}
		case <-limit:
			t.Fatalf("no line says %q", want)
		}
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t)
	first := stream(t, w, w.AsStaff(t, w.Mika))
	second := stream(t, w, w.AsStaff(t, w.Ren))
	await(t, first, "event: hello")
	w.queued(t)
	await(t, first, `"queued":1`)
	await(t, second, `"queued":1`)
	w.AsStaff(t, w.Mika).Post("/desk/next").Want(t, http.StatusSeeOther)
	await(t, second, `"processing":1`)
	w.Desk.Close() // as when the server stops
	for range first {
	}
	for range second {
	}
}

// TestEvents_KeepNobodySignedIn checks that a queue which is only looked at does not keep its session alive, and ends
// with it.
func TestEvents_KeepNobodySignedIn(t *testing.T) {
	w := newWorld(t)
	w.Desk.SetHeartbeat(10 * time.Millisecond)
	v := w.AsStaff(t, w.Mika)
	events := stream(t, w, v)
	await(t, events, "event: hello")
	w.Clock.Advance(access.SessionIdle - time.Hour)
	for range 3 { // the first of them may have been on its way
		await(t, events, "event: hello")
	}
	v.Get("/desk/rows").Want(t, http.StatusOK)
	w.Clock.Advance(2 * time.Hour)
	ended := time.After(time.Minute)
	for open := true; open; {
		select {
		case _, open = <-events:
		case <-ended:
			t.Fatal("the stream outlives the session")
		}
	}
	v.Headers["Sec-Fetch-Mode"] = "cors"
	v.Get("/desk/rows").Want(t, http.StatusUnauthorized)
}
