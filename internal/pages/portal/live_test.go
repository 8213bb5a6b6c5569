package portal_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestRefresh asks for a page as it does itself to come up to date.
func TestRefresh(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	id := w.Order(t, w.Test, order.MockUpdatePhotos)
	page := "/portal/test/orders/" + id
	flash := v.Post(page+"/state", "state", "queued").Want(t, http.StatusSeeOther)
	v.Headers["X-Refresh"] = "1"
	p := v.Get(page).Want(t, http.StatusOK, `data-live="head"`)
	p.Lacks(t, "<html", "sidebar", "The order is now")
	v.Headers["If-None-Match"] = p.Header.Get("ETag")
	if p := v.Get(page).Want(t, http.StatusNotModified); p.Body != "" {
		t.Errorf("an unchanged page is sent again: %s", p.Body)
	}
	v.Post(page+"/state", "state", "authentic").Want(t, http.StatusSeeOther)
	v.Get(page).Want(t, http.StatusOK, "Authentic")
	delete(v.Headers, "X-Refresh")
	v.Get(flash.Location).Want(t, http.StatusOK, "The order is now") // the message has waited for its page

	gone := w.Visit(t)
	gone.Headers["X-Refresh"], gone.Headers["Sec-Fetch-Mode"] = "1", "cors"
	gone.Get(page).Want(t, http.StatusUnauthorized)
}

// TestLive leaves pages open while things happen: they show it, and lose nothing that was entered.
func TestLive(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	owner := w.Owner.Actor(access.Test, access.Origin{})
	b := uitest.NewBrowser(t, w.Server.URL)
	signIn(t, w, b, w.Developer)
	move := func(id, state string) {
		t.Helper()
		_, err := w.Service.SimulateState(t.Context(), owner, id, order.SandboxState(state), nil)
		must.NoError(t, err)
	}
	t.Run("List", func(t *testing.T) {
		b.Open("/portal/test/orders")
		id := w.Order(t, w.Test, order.MockAuthentic)
		b.Await("main a[href$='" + id + "']")
	})
	t.Run("Order", func(t *testing.T) {
		id := w.Order(t, w.Test, order.MockUpdatePhotos)
		b.Open("/portal/test/orders/" + id)
		b.Fill("textarea[name=note]", "nothing is lost")
		move(id, "fake")
		b.AwaitTrue("document.querySelector('[data-live=head]').textContent.includes('Fake')")
		if note := uitest.Eval[string](b, "document.querySelector('textarea[name=note]').value"); note != "nothing is lost" {
			t.Errorf("the note is %q", note)
		}
		if !uitest.Eval[bool](b, "document.activeElement.name === 'note'") {
			t.Error("the field has lost the focus")
		}
		b.Fill("textarea[name=note]", "")
		uitest.Eval[bool](b, "(document.activeElement.blur(), true)")
		b.AwaitGone("textarea[name=note]") // nobody writes any more, and there is nothing to answer
	})
	t.Run("HiddenAndSeen", func(t *testing.T) {
		id := w.Order(t, w.Test, order.MockAuthentic)
		b.Open("/portal/test/orders/" + id)
		hide := func(hidden string) {
			uitest.Eval[bool](b, "(Object.defineProperty(document, 'hidden', { value: "+hidden+", configurable: true }), "+
				"document.dispatchEvent(new Event('visibilitychange')))")
		}
		hide("true")
		uitest.Eval[bool](b, "(window.asked = 0, "+
			"window.fetch = ((f) => (...a) => (window.asked++, f(...a)))(window.fetch), true)")
		move(id, "fake")
		if n := uitest.Eval[int](b, "window.asked"); n != 0 {
			t.Errorf("the hidden page has asked %d times", n)
		}
		hide("false")
		b.AwaitTrue("document.querySelector('[data-live=head]').textContent.includes('Fake')")
	})
	t.Run("Delivery", func(t *testing.T) {
		id := w.delivery(t, access.Test)
		d, err := w.Store.Delivery(t.Context(), id)
		must.NoError(t, err)
		b.Open("/portal/test/deliveries/" + id)
		b.AwaitGone(".attempts")
		due, err := w.Store.DueDeliveries(t.Context(), d.EndpointID, store.Place{}, w.Clock.Now(), 1)
		must.NoError(t, err)
		must.NoError(t, w.Store.RecordAttempts(t.Context(), uuid7.New(), []store.AttemptResult{{
			Attempt:    webhook.Attempt{DeliveryID: id, Number: 1, At: w.Clock.Now(), HTTPStatus: 204},
			EndpointID: d.EndpointID, DueAt: due[0].DueAt,
		}}))
		b.Await(".attempts li")
		b.Await("form[action$='/again']")
		if text := b.Text(".attempts h3"); !strings.Contains(text, "204") {
			t.Errorf("the attempt is %q", text)
		}
	})
	t.Run("WithoutScripts", func(t *testing.T) {
		b.Scripts(false)
		defer b.Scripts(true)
		b.Open("/portal/test/orders")
		b.Await("main table")
	})
	t.Run("Stale", func(t *testing.T) {
		stale(t, b, "/portal/test/orders/"+w.Order(t, w.Test, order.MockAuthentic))
	})
}

// stale cuts a page off in all ways that there are: it says so, and takes it back when it is up to date again.
func stale(t *testing.T, b *uitest.Browser, page string) {
	b.Allow("ERR_INTERNET_DISCONNECTED", "ERR_FAILED", "401")
	look := func() { uitest.Eval[bool](b, "document.dispatchEvent(new Event('visibilitychange'))") }
	says := func(words string) {
		b.AwaitTrue("document.getElementById('stale').textContent.startsWith('" + words + "')")
	}
	fine := "document.getElementById('stale').textContent === ''"
	asked := func() { // and answered
		n := uitest.Eval[int](b, "window.tried")
		look()
		b.AwaitTrue(fmt.Sprintf("window.tried > %d", n))
	}
	b.Before("window.tried = 0; " +
		"window.fetch = ((f) => (...a) => f(...a).finally(() => { window.tried++; }))(window.fetch)")
	b.Open(page)

	b.Offline(true)
	asked()
	if !uitest.Eval[bool](b, fine) {
		t.Error("one failure is told")
	}
	asked()
	says("Not up to date since ")
	b.CheckAccessibility()
	b.Offline(false)
	look()
	b.AwaitTrue(fine)

	uitest.Eval[bool](b, "(Date.now = ((now) => () => now() + 21 * 60 * 1000)(Date.now), true)")
	uitest.Eval[bool](b, "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
	says("Not up to date since ") // nobody was there for a while
	uitest.Eval[bool](b, "dispatchEvent(new Event('pointermove'))")
	b.AwaitTrue(fine)

	b.SignOut()
	look()
	says("You are signed out. Sign in")
	b.Follow("#stale a")
	b.Await("#f-password")
}
