package desk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// noPages are the addresses that answer with something else than a page, or with one that is reached by a flow only.
var noPages = []string{
	"GET /desk/sign-in/code", // TestPages of package signin
	"GET /desk/rows", "GET /desk/events", "GET /desk/find", "GET /desk/photos/{name}/{size}",
	"GET /desk/orders/{id}/draft/take", // TestStates
	"GET /desk/me/password", "GET /desk/me/second-factor/end", "GET /desk/me/token", "GET /desk/me/recovery-codes",
	"GET /desk/me/passkeys", "GET /desk/me/passkeys/new", "GET /desk/sign-in/passkey",
	"GET /desk/sign-in/openid", "GET /desk/sign-in/openid/callback", // TestOpenIDInABrowser of package signin
	"GET /desk/join", "GET /desk/reset", "GET /desk/reset/passkeys", // TestPages of package signin
}

// TestPages opens every page of the table of routes, and pages in states of interest, in both themes and languages on
// all screens, and lets two checkers look for what keeps people from using it.
func TestPages(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	held, waiting, done := w.claimed(t, w.Aoi), w.claimed(t, w.Aoi), w.claimed(t, w.Aoi)
	v := w.AsStaff(t, w.Aoi)
	v.Post("/desk/orders/"+waiting+"/request", "want", "serial-number", "condition.serial-number", "unclear")
	v.Post("/desk/orders/"+done+"/complete", "outcome", "fake", "reason_codes", "logo-misaligned", "index_codes",
		"serial-number", "note", "Look at the stitches.")
	v.Post("/desk/orders/"+held+"/verdict", "outcome", "fake", "reason.fake", "logo-misaligned", "check.serial-number",
		"fail", "reason_text.en", "The serial number belongs to another model.",
		"reason_text.ja", "シリアル番号が別のモデルのものです。", "note", "Look at the stitches.")
	w.queued(t)
	photos, err := w.Store.OrderPhotos(t.Context(), held)
	must.NoError(t, err)
	passkey := &access.Passkey{
		ID: uuid7.New(), Audience: access.Desk, UserID: w.Aoi.ID, Name: "Work laptop", CredentialID: []byte("credential"),
		PublicKey: []byte("key"), AAGUID: "00000000-0000-0000-0000-000000000000", CreatedAt: w.Clock.Now(),
	}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertPasskey(passkey) }))
	fill := func(pattern string) string {
		_, path, _ := strings.Cut(pattern, " ")
		if strings.Contains(path, "/passkeys/{id}") {
			return strings.Replace(path, "{id}", passkey.ID, 1)
		}
		return strings.NewReplacer("{id}", held, "{name}", photos[0].Name, "{size}", "thumb").Replace(path)
	}
	sorted := uitest.SortPages(t, w.Desk.Patterns(), noPages, fill,
		func(path string) (int, string) { p := w.Visit(t).Get(path); return p.Status, p.Body },
		func(path string) (int, string) { p := v.Get(path); return p.Status, p.Body })
	open, pages := sorted[0], sorted[1]
	pages["done"], pages["mine"] = "/desk?tab=done", "/desk?tab=mine&brand=gucci"
	pages["order-waiting"], pages["order-done"] = "/desk/orders/"+waiting, "/desk/orders/"+done

	b := uitest.NewBrowser(t, w.Server.URL)
	b.CheckPages(open)
	signIn(b, "aoi@example.com")
	b.CheckPages(pages)
	b.Allow("403", "404") // the browser says so
	b.CheckPages(map[string]string{"not-found": "/desk/orders/nothing"})
	b.Follow("form[action='/desk/sign-out'] button")
	signIn(b, "mika@example.com")
	b.CheckPages(map[string]string{
		"forbidden": "/desk/orders/" + held + "/cancel", "order-of-another": "/desk/orders/" + held,
	})
}

// TestStates looks at what only a flow leads to: the viewer, the list of keys, the notes about a draft, a verdict
// against the checklist, a photo request in the making, and orders with one reference.
func TestStates(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	w.changeCatalog(t, func(c string) string {
		return strings.Replace(c, "  - {code: overall-picture,", "  - {code: overall-picture, example_urls: ["+
			w.Photo(t, w.Live)+"],", 1)
	})
	id, doubtful := w.twoPhotos(t, w.Mika), w.claimed(t, w.Mika)
	w.AsStaff(t, w.Mika).Post("/desk/orders/"+doubtful+"/verdict", "outcome", "authentic", "check.serial-number", "fail",
		"check.brand-stamp", "not-visible").Want(t, 303)
	b := w.reviewing(t, id)
	for _, lang := range []string{"en", "ja"} {
		b.Open("/desk/orders/" + id + "?lang=" + lang)
		b.Press("?")
		b.Await("#help")
		b.CheckLooks("keys", lang)
		b.Press(kb.Escape)
		b.AwaitGone("#help")
		b.Press(kb.Enter)
		b.AwaitTrue(`document.querySelector("#viewer .pane img").naturalWidth > 0`)
		b.Press("fP")
		b.Await("#viewer .undo")
		b.CheckLooks("viewer", lang)
		b.Press("si")
		b.AwaitTrue(`document.querySelector("#viewer .info dl") !== null`)
		b.CheckLooks("viewer-compare", lang)
		b.Press("si?")
		b.Await("#help")
		b.CheckLooks("viewer-keys", lang)
		b.Press(kb.Escape)
		b.AwaitGone("#help")
		b.Press("x") // closes the viewer
		b.AwaitGone("#viewer")
		uitest.Eval[int](b, `[...document.querySelectorAll("[data-note]")].map((note) => {
			note.hidden = false;
			const message = note.querySelector("[data-message]");
			if (message) message.textContent = "Aoi Mori reassigned this order to Ren Ito.";
		}).length`)
		b.CheckLooks("notes", lang)
		b.AwaitTrue(draftIs + `"saved"`)

		b.Open("/desk/orders/" + id + "/request?lang=" + lang)
		b.Click("#w-serial-number")
		b.Fill("#t-serial-number", "Closer, please: the digits have to be readable.")
		b.CheckLooks("request-chosen", lang)
		b.Follow(".request .primary")
		b.CheckLooks("request-preview", lang)
		uitest.Eval[any](b, `localStorage.clear()`) // what was entered, which would be there again
	}
	_, err := w.Service.SaveVerdictDraft(t.Context(), w.Aoi.Actor(access.Origin{}), doubtful, &order.VerdictDraft{
		Outcome: order.Fake, ReasonCodes: []string{"logo-misaligned"}, IndexCodes: []string{"serial-number"},
		Checks: map[string]order.Mark{"serial-number": order.MarkFail}, Note: "Look at the stitches.",
	}, 0)
	must.NoError(t, err)
	b.CheckPages(map[string]string{
		"confirm-against": "/desk/orders/" + doubtful + "/verdict", "found": "/desk/find?q=SKU-1",
		"draft-take": "/desk/orders/" + doubtful + "/draft/take",
	})
}

// TestFirstScreen checks what is seen without scrolling: the first order of the queue, and the button of the verdict.
func TestFirstScreen(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	id := w.claimed(t, w.Aoi)
	w.queued(t)
	b := uitest.NewBrowser(t, w.Server.URL)
	signIn(b, "aoi@example.com")
	for _, lang := range []string{"en", "ja"} {
		for width, lowest := range map[int]float64{1440: 290, 1024: 290, 390: 480} {
			b.Do(chromedp.EmulateViewport(int64(width), 768))
			b.Open("/desk?lang=" + lang)
			top := uitest.Eval[float64](b, `document.querySelector("table.queue tbody tr").getBoundingClientRect().top`)
			if top > lowest {
				t.Errorf("%d px, %s: the first order begins at %v", width, lang, top)
			}
			b.Open("/desk/orders/" + id)
			b.Press("x")
			end := uitest.Eval[float64](b, `document.querySelector("#verdict .primary").getBoundingClientRect().bottom`)
			if width >= 1024 && end > 768 {
				t.Errorf("%d px, %s: the button of the verdict ends at %v of 768", width, lang, end)
			}
		}
	}
}

// TestSidebar_SignOut checks that the narrow navigation beside an order does not break the word in the middle.
func TestSidebar_SignOut(t *testing.T) {
	_, id, b := newReview(t)
	for _, lang := range []string{"en", "ja"} {
		b.Open("/desk/orders/" + id + "?lang=" + lang)
		b.Resize(1280)
		if !uitest.Eval[bool](b, `(() => {
			const text = document.createRange(), bar = document.querySelector(".sidebar").getBoundingClientRect();
			text.selectNodeContents(document.querySelector(".who button"));
			const lines = text.getClientRects();
			return lines.length === 1 && lines[0].left >= bar.left && lines[0].right <= bar.right;
		})()`) {
			t.Errorf("%s: the word is broken or cut off", lang)
		}
	}
}
