package desk_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

const (
	staleSays  = `document.getElementById("stale").textContent.includes`
	staleEmpty = `document.getElementById("stale").textContent === ""`
)

// TestQueue_Missed checks that the queue shows what moved after it was rendered and before it joined the stream.
func TestQueue_Missed(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	events := stream(t, w, w.AsStaff(t, w.Ren)) // somebody else looks on all the time
	b := uitest.NewBrowser(t, w.Server.URL)
	signIn(b, "mika@example.com")
	b.Before(`Object.defineProperty(document, "hidden", { value: true, configurable: true })`)
	b.Open("/desk")
	id := w.queued(t)
	await(t, events, `"queued":1`)
	if n := b.Count(`a[href$="` + id + `"]`); n != 0 {
		t.Fatal("the page has joined the stream already")
	}
	uitest.Eval[bool](b, `(Object.defineProperty(document, "hidden", { value: false }),
		dispatchEvent(new PageTransitionEvent("pageshow")))`)
	b.Await(`a[href$="` + id + `"]`)
}

// TestQueue_Offline checks that the queue says that it is not up to date, and that it shows what it has missed when the
// network is back.
func TestQueue_Offline(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Allow("ERR_INTERNET_DISCONNECTED", "ERR_FAILED", "ERR_NETWORK_CHANGED")
	signIn(b, "mika@example.com")
	b.AwaitTrue(staleEmpty)
	b.Offline(true)
	w.queued(t)
	b.AwaitTrue(staleSays + `("Not up to date since ")`)
	if got := b.Text("#stale"); !strings.HasSuffix(got, "Reload") || strings.Contains(got, "{") {
		t.Errorf("offline the page says %q", got)
	}
	b.CheckAccessibility()
	b.Screenshot("stale")
	id := w.queued(t)
	b.Offline(false)
	b.Await(`a[href$="` + id + `"]`)
	b.AwaitTrue(staleEmpty)
}

// TestQueue_SignedOut checks that the queue says so when its session has ended, stays where it is, and goes on after
// somebody has signed in again beside it.
func TestQueue_SignedOut(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Allow("401")
	signIn(b, "mika@example.com")
	b.SignOut()
	id := w.queued(t)
	b.AwaitTrue(staleSays + `("You are signed out. Sign in")`)
	if got := b.Path(); got != "/desk" {
		t.Errorf("the page is now %s", got)
	}
	beside := b.Tab()
	signIn(beside, "mika@example.com")
	beside.Open("/desk/signed-in")
	b.Await(`a[href$="` + id + `"]`)
	b.AwaitTrue(staleEmpty)
}
