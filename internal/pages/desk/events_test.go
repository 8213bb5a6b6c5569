package desk_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// stream opens the events of a signed-in browser and returns its lines.
func stream(t *testing.T, w *world, v *visitor) (lines <-chan string, end context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Server.URL+"/desk/events", nil)
	check(t, err)
	r.AddCookie(v.cookies["assay_desk"])
	res, err := http.DefaultClient.Do(r)
	check(t, err)
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
	return out, cancel
}

func await(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	limit := time.After(20 * time.Second)
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
	first, _ := stream(t, w, w.as(t, w.Mika))
	second, _ := stream(t, w, w.as(t, w.Ren))
	await(t, first, "event: hello")
	w.queued(t)
	await(t, first, `"queued":1`)
	await(t, second, `"queued":1`)
	w.as(t, w.Mika).post("/desk/next").want(t, http.StatusSeeOther)
	await(t, second, `"processing":1`)
	w.Desk.Close() // as when the server stops
	for range first {
	}
	for range second {
	}
}
