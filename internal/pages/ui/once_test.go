package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
	"time"

	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// newSender serves a page at /sender, with a form whose answer takes a second and leaves the page where it is. What the
// button says of each form that the server gets is put into came.
func newSender(t *testing.T) (address string, came chan string) {
	t.Helper()
	came = make(chan string, 10)
	area := ui.Area{Name: "sender", Files: fstest.MapFS{"templates/sender.html": {Data: []byte(`{{define "main"}}
		<h1>Once</h1><form method="post" action="/send"><button id="send" name="how" value="this">Send</button></form>
		{{end}}`)}}}
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	site, mux := uitest.SiteAt(t, server.URL, time.Now, area), http.NewServeMux()
	site.Routes(mux)
	mux.Handle("GET /sender", site.Pages("sender").Handle(func(w http.ResponseWriter, r *http.Request) error {
		return site.Pages("sender").Render(w, r, ui.Page{Template: "sender"})
	}))
	mux.HandleFunc("POST /send", func(w http.ResponseWriter, r *http.Request) {
		came <- r.FormValue("how")
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done(): // the browser has sent another
		}
		w.WriteHeader(http.StatusNoContent)
	})
	handler = site.Wrap(mux)
	return server.URL, came
}

// TestFormsAreSentOnce checks that a form is not sent again while it is under way, and that it is not locked for good
// where the page stays.
func TestFormsAreSentOnce(t *testing.T) {
	address, came := newSender(t)
	b := uitest.NewBrowser(t, address)
	b.Before("const now = performance.now.bind(performance); let skipped = 0; performance.now = () => now() + skipped;")
	// press presses the button so many times, which the page does by itself: it is deaf until there is an answer.
	press := func(times, want int, when string) {
		t.Helper()
		uitest.Eval[any](b, fmt.Sprintf(`window.pressed = 0; for (let i = 0; i < %d; i++) {
			setTimeout(() => { pressed++; document.getElementById("send").click(); }, 300 * i);
		}`, times))
		b.AwaitTrue(fmt.Sprintf("pressed === %d", times))
		for got := 0; ; got++ {
			limit := time.Minute // until the browser gets to it
			if got >= want {
				limit = 1500 * time.Millisecond // for more than that
			}
			select {
			case how := <-came:
				if how != "this" {
					t.Errorf("%s the button says %q", when, how)
				}
				continue
			case <-time.After(limit):
			}
			if got != want {
				t.Errorf("%s the form is sent %d times, want %d", when, got, want)
			}
			return
		}
	}
	b.Open("/sender")
	press(3, 1, "pressed three times")
	press(1, 0, "pressed after the answer")
	uitest.Eval[any](b, `void (skipped = 11000)`)
	press(2, 1, "pressed after a while")
	uitest.Eval[any](b, `void dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`)
	press(2, 1, "pressed on the way back")

	b.Open("/sender")
	uitest.Eval[any](b, `let asked = 0; document.addEventListener("submit", (event) => {
		if (++asked < 3) event.preventDefault();
	})`)
	press(2, 0, "pressed where the page holds it back")
	press(2, 1, "pressed where the page lets it go")
}
