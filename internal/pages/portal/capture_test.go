package portal_test

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

var (
	captureAddress = regexp.MustCompile(`data-copy="[^"]*/capture/([^"?]+)(\?lang=ja)?"`)
	captureLinkID  = regexp.MustCompile(`/capture-links/([0-9a-f-]{36})`)
)

// madeLink returns the id and the secret of a link from the page that shows its address.
func madeLink(t *testing.T, p *pagetest.Page) (id, token string) {
	t.Helper()
	p.Want(t, http.StatusOK, "The capture link is ready", `class="qr-dark"`)
	return captureLinkID.FindStringSubmatch(p.Body)[1], captureAddress.FindStringSubmatch(p.Body)[1]
}

// submitPhotos sends a photo of every required index through a link, as its page does, and submits them.
func (w *world) submitPhotos(t *testing.T, token string) {
	t.Helper()
	c, err := w.Service.OpenCapture(t.Context(), token)
	must.NoError(t, err)
	for _, x := range c.Wanted {
		if !x.Required {
			continue
		}
		photo := bytes.NewReader(pictures.GrayJPEG(640, 480))
		u, refusal, err := w.Staging.Accept(t.Context(), photo, x.Code+".jpg", 1<<20)
		must.NoError(t, err)
		if refusal != nil {
			t.Fatal(refusal)
		}
		must.NoError(t, w.Service.AddCapturePhoto(t.Context(), c, "photo-"+x.Code, x.Code, u))
		media.CloseUploads([]media.Upload{u})
	}
	c, err = w.Service.OpenCapture(t.Context(), token)
	must.NoError(t, err)
	must.NoError(t, w.Service.SubmitCapture(t.Context(), c, nil))
}

// TestCaptureLinks_ErasedPhotos checks that a link whose photos are in an order tells that they were erased with it.
func TestCaptureLinks_ErasedPhotos(t *testing.T) {
	w := newWorld(t)
	v := w.AsUser(t, w.Developer)
	id, token := madeLink(t, v.Post("/portal/test/capture-links", "category", "bags", "brand", "prada", "life", "1"))
	w.submitPhotos(t, token)
	l, err := w.Service.CaptureLink(t.Context(), w.Owner.Actor(access.Test, access.Origin{}), id)
	must.NoError(t, err)
	d := &order.Draft{CategoryCode: "bags", BrandCode: "prada", Mock: order.MockAuthentic, MockGiven: true}
	for _, p := range l.URLs {
		d.Photos = append(d.Photos, order.DraftPhoto{URL: p.URL, IndexCode: p.IndexCode})
	}
	created, err := w.Service.CreateOrder(t.Context(), w.Test.Actor(access.Origin{}), d, nil)
	must.NoError(t, err)
	page := "/portal/test/capture-links/" + id
	v.Get(page).Want(t, http.StatusOK, "/portal/photos/").Lacks(t, "</svg>deleted")
	_, err = w.Service.EraseOrder(t.Context(), access.Operator, created.OrderID, false)
	must.NoError(t, err)
	v.Get(page).Want(t, http.StatusOK, "</svg>deleted").Lacks(t, "/portal/photos/")
}

// TestCaptureLinks makes, shows and revokes capture links on both engines.
func TestCaptureLinks(t *testing.T) {
	storetest.EachTarget(t, func(t *testing.T, target string) {
		w := &world{World: pagetest.On(t, target)}
		v := w.AsUser(t, w.Developer)
		const list = "/portal/test/capture-links"
		v.Get(list).Want(t, http.StatusOK, "No capture links yet", list+"/new")
		w.AsUser(t, w.Viewer).Get(list).Want(t, http.StatusOK).Lacks(t, list+"/new")

		t.Run("Item", func(t *testing.T) {
			v.Get(list+"/new").Want(t, http.StatusOK, "Choose a category").Lacks(t, "Return URL")
			v.Get(list+"/new?category=bags&brand=prada&model=nothing").Want(t, http.StatusOK, "Return URL", "48 hours")
			v.Get(list+"/new?category=bags&brand=gucci&external_id=sku-9&life=168&return_url=https://shop.example/x").
				Want(t, http.StatusOK, `value="sku-9"`, `<option value="168" selected`, `value="https://shop.example/x"`)
			v.Post(list, "category", "bags", "external_id", "sku").Want(t, http.StatusUnprocessableEntity)
			v.Post(list, "category", "bags", "brand", "prada", "return_url", "http://shop.example/").
				Want(t, http.StatusUnprocessableEntity, "https://.")
			v.Post(list, "category", "bags", "brand", "prada", "external_id", strings.Repeat("x", 101)).
				Want(t, http.StatusUnprocessableEntity)
			id, token := madeLink(t, v.Post(list, "category", "bags", "brand", "prada", "external_id", "sku-17", "life", "1",
				"locale", "ja", "return_url", "https://shop.example/thanks"))
			v.Get(list).Want(t, http.StatusOK, "sku-17", "Open").Lacks(t, token)
			page := v.Get(list+"/"+id).Want(t, http.StatusOK, "Open", "11:00:00 UTC", "https://shop.example/thanks",
				w.Developer.Email, "0 photos sent so far")
			page.Lacks(t, token)
			w.submitPhotos(t, token)
			v.Get(list+"/"+id).Want(t, http.StatusOK, "Submitted", "/portal/photos/", "Create an order from these photos",
				"/v1/integrations/orders").Lacks(t, "/revoke")
			v.Get(list+"/"+id+"/revoke").Want(t, http.StatusSeeOther)
			v.Submit(list+"/"+id+"/revoke").Want(t, http.StatusOK, "no longer open", "Submitted")
		})
		t.Run("Order", func(t *testing.T) {
			id := w.Order(t, w.Test, order.MockUpdatePhotos)
			at := "/portal/test/orders/" + id
			v.Get(at).Want(t, http.StatusOK, at+"/capture-link")
			w.AsUser(t, w.Viewer).Get(at).Want(t, http.StatusOK).Lacks(t, at+"/capture-link")
			first, _ := madeLink(t, v.Post(at+"/capture-link"))
			_, token := madeLink(t, v.Post(at+"/capture-link"))
			v.Get(list).Want(t, http.StatusOK, "photo request", at)
			w.submitPhotos(t, token)
			v.Get(at).Want(t, http.StatusOK, "Photos sent", w.Developer.Email)
			v.Get(list+"/"+first).Want(t, http.StatusOK, "Expired") // the request is answered
			if n := strings.Count(v.Get(list).Body, ">Expired<"); n != 1 {
				t.Errorf("the list has %d expired links", n)
			}
			v.Follow(v.Post(at+"/capture-link")).Want(t, http.StatusOK, "not waiting for photos")
		})
		t.Run("Revoke", func(t *testing.T) {
			id := w.captureLink(t, access.Test).ID
			v.Get(list+"/"+id+"/revoke").Want(t, http.StatusOK, "Revoke this capture link?")
			v.Submit(list+"/"+id+"/revoke").Want(t, http.StatusOK, "is revoked", "Revoked")
			v.Get(list+"/"+id).Want(t, http.StatusOK, "Revoked", "are deleted")
		})
		t.Run("Pages", func(t *testing.T) {
			for range 26 {
				w.captureLink(t, access.Live)
			}
			first := v.Get("/portal/live/capture-links").Want(t, http.StatusOK, "?before=")
			older := regexp.MustCompile(`/portal/live/capture-links\?before=[0-9a-f-]+`).FindString(first.Body)
			second := v.Get(older).Want(t, http.StatusOK)
			if n, m := strings.Count(first.Body, "<tr>"), strings.Count(second.Body, "<tr>"); n != 26 || m != 2 {
				t.Errorf("%d and %d rows with the heads", n, m)
			}
		})
	})
}

// TestCaptureLinkInBrowser makes a link for an item and one for a photo request, by hand.
func TestCaptureLinkInBrowser(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	waiting := w.Order(t, w.Test, order.MockUpdatePhotos)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Resize(390)
	signIn(t, w, b, w.Developer)
	b.Open("/portal/test/capture-links")
	b.Follow("main .primary")
	chooseBag(b)
	b.Await("#f-external_id")
	b.Fill("#f-external_id", "sku-17")
	b.Choose("#f-life", "168")
	b.Choose("[name=brand]", "gucci") // another item: what was typed stays
	b.AwaitTrue(`location.search.includes("brand=gucci") && document.readyState === "complete"`)
	b.AwaitTrue(`document.getElementById("f-external_id").value === "sku-17" &&
		document.getElementById("f-life").value === "168" && document.activeElement.name === "brand"`)
	b.Follow("form[method=post][action$=capture-links] .primary")
	wantSecret(t, b, "/capture/")
	b.Await(".link-qr svg")
	b.CheckAccessibility()
	b.Screenshot("capture-link-made")
	b.Open("/portal/test/orders/" + waiting)
	b.Follow(".by-link button")
	b.Await(".link-qr svg")
	b.Resize(1440)
	b.CheckAccessibility()
	b.Screenshot("capture-link-of-request")
	b.Follow("main .primary")
	b.AwaitTrue("location.pathname.endsWith('" + waiting + "')")
}
