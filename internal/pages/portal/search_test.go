package portal_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestSearch looks for everything that can be found, on both engines.
func TestSearch(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := &world{World: pagetest.On(t, target)}
		v, stranger := w.AsUser(t, w.Viewer), w.AsUser(t, w.Stranger)
		find := func(v *pagetest.Visitor, env, text string) *pagetest.Page {
			return v.Get("/portal/" + env + "/search?q=" + url.QueryEscape(text))
		}
		id := w.Order(t, w.Test, order.MockAuthentic)
		o, err := w.Store.Order(t.Context(), id)
		must.NoError(t, err)
		delivery, request := w.delivery(t, access.Test), w.request(t, access.Test)
		endpoint, link := w.endpoint(t, access.Test), w.captureLink(t, access.Test)
		for text, to := range map[string]string{
			id: "/orders/" + id, " " + o.Number + " ": "/orders/" + id, delivery: "/deliveries/" + delivery,
			request: "/requests/" + request, endpoint.ID: "/webhooks/" + endpoint.ID, endpoint.URL: "/webhooks/" + endpoint.ID,
			link.ID: "/capture-links/" + link.ID,
		} {
			if p := find(v, "test", text).Want(t, http.StatusSeeOther); p.Location != "/portal/test"+to {
				t.Errorf("%q leads to %s, want %s", text, p.Location, to)
			}
			find(v, "live", text).Want(t, http.StatusOK, "Nothing found", "/portal/test/search?q=")
			find(stranger, "test", text).Want(t, http.StatusOK, "Nothing found")
		}
		find(v, "test", "127.0.0.1:1999/HOOK").Want(t, http.StatusOK, "2 results", endpoint.URL)
		for range 2 {
			w.captureLink(t, access.Test)
		}
		for _, text := range []string{"", " ", "x", "\x00", "\xff", "%", "' OR 1=1", uuid7.New(), w.Developer.Email} {
			find(v, "test", text).Want(t, http.StatusOK)
			v.Get("/portal/test/orders?q="+url.QueryEscape(text)).Want(t, http.StatusOK)
		}
	})
}

// TestSearch_ExternalID lists all orders with an external id, and leads to a single one.
func TestSearch_ExternalID(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	made := func() string {
		t.Helper()
		return v.Post("/portal/test/sandbox", "category", "bags", "brand", "prada", "key", w.Test.ID, "outcome", "authentic",
			"indexes", "overall-picture", "indexes", "serial-number", "indexes", "logo", "external_id", "sku 17").
			Want(t, http.StatusSeeOther).Location
	}
	first := made()
	if p := v.Get("/portal/test/search?q=sku+17").Want(t, http.StatusSeeOther); p.Location != first {
		t.Errorf("it leads to %s, want %s", p.Location, first)
	}
	second := made()
	v.Get("/portal/test/search?q=sku+17").Want(t, http.StatusOK, "2 results", first, second,
		"/portal/test/requests?order=")
}

// TestSearchBox searches from the navigation, with the keyboard.
func TestSearchBox(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	id := w.Order(t, w.Test, order.MockAuthentic)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Resize(uitest.DeskWidth)
	signIn(t, w, b, w.Viewer)
	b.Open("/portal/test")
	b.Press("/")
	b.AwaitTrue("document.activeElement.closest('.find-all') !== null")
	b.Press("127.0.0.1\r")
	b.AwaitTrue("location.pathname === '/portal/test/search' && document.querySelector('#q').value === '127.0.0.1'")
	b.Fill("#q", id)
	b.Follow("main .find button")
	b.AwaitTrue("location.pathname.endsWith('" + id + "')")
	b.Resize(uitest.PhoneWidth)
	b.Follow(".sidebar a[href$='/search']")
	b.AwaitTrue("location.pathname === '/portal/test/search'")
}
