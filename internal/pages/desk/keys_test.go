package desk_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// typist counts the keys that a verdict takes. A key with a modifier is one.
type typist struct {
	*uitest.Browser
	keys int
}

func (k *typist) Press(keys string, modifiers ...chromedp.Modifier) {
	k.keys += len([]rune(keys))
	k.Browser.Press(keys, modifiers...)
}

const mostKeys = 15 // for an order, on average

// TestTwentyVerdicts gives twenty verdicts by keyboard, with every photo looked at, and counts the keys.
func TestTwentyVerdicts(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	indexes := []string{
		"overall-picture", "overall-picture", "logo", "brand-stamp", "serial-number", "hardware-engraving", "clasp",
		"stitching",
	}
	const verdicts = 20
	ids := make([]string, verdicts)
	for i := range ids {
		ids[i] = w.queuedWith(t, indexes...)
		w.Clock.Advance(time.Second)
	}
	b := &typist{Browser: uitest.NewBrowser(t, w.Server.URL)}
	signIn(b.Browser, "mika@example.com")
	b.Press("n")
	for i, id := range ids {
		b.Await(`.bench[data-order="` + id + `"]`)
		b.AwaitTrue(`document.readyState === "complete"`)
		b.Press(kb.Enter) // the first photo
		for j := range indexes {
			seen := uitest.Eval[int](b.Browser,
				`Number(/\((\d+)\/8\)/.exec(document.getElementById("viewer-title").textContent)[1])`)
			if seen != j+1 {
				t.Fatalf("order %d: photo %d is looked at, want %d", i+1, seen, j+1)
			}
			b.AwaitTrue(`document.querySelector("#viewer .pane img").naturalWidth > 0`)
			switch {
			case i%4 == 3 && j == 4:
				b.Press("F") // and the next
			case i == 18 && j == 4:
				b.Press("V")
			default:
				b.Press("p")
			}
		}
		want := order.Authentic
		switch {
		case i%4 == 3:
			want = order.Fake
			b.Press("x")
			b.Press("log") // of the filter of reasons
			b.Press(kb.Enter)
			b.Press(kb.Enter, chromedp.ModifierCtrl)
		case i == 18:
			want = order.UnableToVerify
			b.Press("u")
			b.Press(kb.Enter)
		default:
			b.Press("a")
			b.Press(kb.Enter)
		}
		b.Await(".confirm-actions")
		b.Press(kb.Enter, chromedp.ModifierCtrl) // and the next order
		if i == verdicts-1 {
			b.Await("#board")
		} else {
			b.Await(`.bench[data-order="` + ids[i+1] + `"]`)
		}
		if got := w.order(t, id); got.Outcome != want || want == order.Fake && len(got.OutcomeIndexes) != 1 {
			t.Errorf("order %d is %q with %v, want %q", i+1, got.Outcome, got.OutcomeIndexes, want)
		}
	}
	t.Logf("%.1f keys an order", float64(b.keys)/verdicts)
	if b.keys > verdicts*mostKeys {
		t.Errorf("%d keys for %d orders, want at most %d an order", b.keys, verdicts, mostKeys)
	}
}

// TestViewer_Walk checks that next and previous skip the catalog's examples, that a lock keeps what one looks at, and
// that the list of keys names those that work where one is.
func TestViewer_Walk(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.changeCatalog(t, func(c string) string {
		return strings.Replace(c, "  - {code: overall-picture,", "  - {code: overall-picture, example_urls: ["+
			w.Photo(t, w.Live)+", "+w.Photo(t, w.Live)+"],", 1)
	})
	id := w.claimed(t, w.Mika)
	b := w.reviewing(t, id)
	if b.Count("a[data-example]") != 2 {
		t.Fatal("there are no examples")
	}
	title := func() string { return b.Text("#viewer-title") }
	b.Press("?")
	if got := b.Text("#help"); strings.Contains(got, "zoom in") || !strings.Contains(got, "authentic, fake") {
		t.Errorf("the order page lists %q", got)
	}
	b.Press(kb.Escape)
	b.AwaitGone("#help")
	b.Press(kb.Enter)
	b.Await("#viewer")
	for _, step := range []struct{ key, place string }{
		{"j", "(2/3)"}, {"j", "(3/3)"}, {"j", "(3/3)"}, {"k", "(2/3)"}, {"k", "(1/3)"},
	} {
		b.Press(step.key)
		if got := title(); !strings.HasSuffix(got, step.place) {
			t.Errorf("%s leads to %q, want %s", step.key, got, step.place)
		}
	}
	b.Press("s") // beside the photo is an example of its index
	b.AwaitTrue(`document.querySelector("#viewer .pane:nth-child(2) img").alt.includes("example 1")`)
	b.Press("s")
	b.Press("?")
	if got := b.Text("#help"); !strings.Contains(got, "zoom in") || strings.Contains(got, "open the photo") {
		t.Errorf("the viewer lists %q", got)
	}
	b.Press(kb.Escape)
	b.AwaitGone("#help")

	look := func() string {
		b.AwaitTrue(`document.querySelector("#viewer .pane img").naturalWidth > 0 &&
			!document.querySelector("#viewer .pane img").hidden`)
		return uitest.Eval[string](b, `(({style: {transform, filter}}) => [ // the size of a pixel, the place, the light
			document.getElementById("viewer-scale").textContent, !transform.startsWith("translate(0px, 0px)"), filter,
		].join())(document.querySelector("#viewer .pane img"))`)
	}
	plain := look()
	b.Press("+++b")
	b.Press(kb.ArrowRight)
	if look() == plain {
		t.Fatal("nothing is zoomed")
	}
	b.Press("j")
	if got := look(); got != plain {
		t.Errorf("without the lock the next photo is shown as %q, want %q", got, plain)
	}
	b.Press("h") // the lock
	b.Press("+++b")
	b.Press(kb.ArrowRight)
	kept := look()
	b.Press("j")
	if got := look(); got != kept {
		t.Errorf("with the lock the next photo is shown as %q, want %q", got, kept)
	}

	b.Press(kb.Escape)
	b.AwaitGone("#viewer")
	b.Open("/desk/orders/" + id + "/request")
	b.Press("?")
	if got := b.Text("#help"); strings.Contains(got, "authentic") || strings.Contains(got, "pass") {
		t.Errorf("the request lists %q", got)
	}
}

// TestViewer_Failing checks that the viewer tells when a picture does not come, and when only its original does not,
// and that it tries again.
func TestViewer_Failing(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	c := w.integrator(t)
	id := orderBag(t, c, []string{upload(t, c, 40), upload(t, c, 120), upload(t, c, 200)}, 60)
	_, err := w.Service.ClaimOrder(t.Context(), w.Mika.Actor(access.Origin{}), id)
	must.NoError(t, err)
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Before(`let broken = "none", skipped = 0;
		const { decode } = HTMLImageElement.prototype, now = performance.now.bind(performance);
		performance.now = () => now() + skipped;
		HTMLImageElement.prototype.decode = function () {
			return this.src.endsWith(broken) ? Promise.reject(new Error("broken")) : decode.call(this);
		};`)
	signIn(b, "mika@example.com")
	b.Open("/desk/orders/" + id)
	breaks := func(what string) { uitest.Eval[any](b, `void (broken = "`+what+`")`) }
	shows := func(size, note string) {
		t.Helper()
		b.AwaitTrue(`(([img], note) => note.textContent === "` + note + `" &&
			(img.hidden ? "" : new URL(img.src).pathname.split("/").at(-1)) === "` + size + `")(
			document.querySelectorAll("#viewer .pane img"), document.querySelector("#viewer .pane-note"))`)
	}
	breaks("/screen")
	b.Press(kb.Enter)
	b.Await("#viewer")
	shows("", "This image could not be loaded.")
	b.CheckAccessibility()
	breaks("none")
	b.Click("#viewer .again")
	shows("screen", "")
	b.AwaitGone("#viewer .again")
	breaks("/screen")
	b.Press("j")
	shows("", "This image could not be loaded.")
	b.Press("+++") // of what is not there
	breaks("none")
	b.AwaitTrue(`(dispatchEvent(new Event("online")), true)`) // by itself
	shows("screen", "")
	b.Press(kb.Escape)
	b.AwaitGone("#viewer")

	breaks("/original")
	b.Press(kb.Enter)
	b.Await("#viewer")
	shows("screen", "")
	b.Press("+++++")
	shows("screen", "The original could not be loaded. Zoom again to retry.")
	b.CheckAccessibility()
	b.Screenshot("viewer-failing")
	breaks("none")
	uitest.Eval[any](b, "void (skipped = 5000)")
	b.Press("+")
	shows("original", "")
}

// TestPhotos_Failing checks that photos which did not arrive have a way to try again in place of broken pictures, and
// are asked for by themselves when the network is back.
func TestPhotos_Failing(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	var broken atomic.Bool
	all := w.Server.Config.Handler
	w.Server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if broken.Load() && strings.HasSuffix(r.URL.Path, "/thumb") {
			panic(http.ErrAbortHandler)
		}
		all.ServeHTTP(rw, r)
	})
	b := uitest.NewBrowser(t, w.Server.URL)
	b.Allow("ERR_")
	signIn(b, "mika@example.com")
	const arrived = `[...document.querySelectorAll(".shot img")].every((img) => img.naturalWidth > 0)`
	gone := func() {
		t.Helper()
		b.AwaitTrue(arrived)
		b.AwaitTrue(`!document.querySelector(".shot.missing, .shot .again")`)
	}
	missing := func(page string) {
		t.Helper()
		b.AwaitTrue(`document.querySelectorAll(".shot.missing .again").length === 3`)
		b.CheckAccessibility()
		b.Screenshot("photos-failing-" + page)
	}
	broken.Store(true)
	b.Open("/desk/orders/" + id)
	missing("order")
	b.Press("a")
	b.AwaitTrue(draftIs + `"saved"`)
	b.Follow("#verdict .primary")
	missing("confirm")
	b.Open("/desk/orders/" + id + "/request")
	missing("request")
	broken.Store(false)
	b.AwaitTrue(`(dispatchEvent(new Event("online")), true)`)
	gone()

	other := w.claimed(t, w.Mika)
	broken.Store(true)
	b.Open("/desk/orders/" + other)
	missing("other")
	b.Click(".shot .again") // and still nothing comes
	missing("other")
	broken.Store(false)
	b.Click(".shot .again")
	gone()
}

// TestQueue_Keys goes along the queue by keyboard.
func TestQueue_Keys(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	first := w.queued(t)
	w.Clock.Advance(time.Second)
	second := w.queued(t)
	b := uitest.NewBrowser(t, w.Server.URL)
	signIn(b, "mika@example.com")
	b.Press("?")
	b.Await("#help")
	b.Press("n") // which is not the time for it
	b.CheckAccessibility()
	b.Press(kb.Escape)
	b.AwaitGone("#help")
	at := func() string { return uitest.Eval[string](b, `document.activeElement.getAttribute("href")`) }
	for _, step := range []struct{ key, order string }{{"j", first}, {"j", second}, {"j", second}, {"k", first}} {
		b.Press(step.key)
		if got := at(); got != orderAt(step.order) {
			t.Errorf("%s leads to %q, want %s", step.key, got, step.order)
		}
	}
	b.Press(kb.Enter)
	b.Await(`.bench[data-order="` + first + `"]`)
}

// TestKeys_Held checks that a key which is held takes one order, and confirms nothing on the page that it led to.
func TestKeys_Held(t *testing.T) {
	w, id, b := newReview(t)
	w.queued(t)
	// sent is how often the page sends a form when a key goes down, and while it is held.
	sent := func(key string) (first, held int) {
		got := uitest.Eval[[]int](b, fmt.Sprintf(`[true, false].map((repeat) => {
			let forms = 0;
			const count = (event) => { forms++; event.preventDefault(); event.stopPropagation(); };
			addEventListener("submit", count, true);
			document.dispatchEvent(new KeyboardEvent("keydown", { key: %q, repeat, ctrlKey: %t }));
			removeEventListener("submit", count, true);
			return forms;
		})`, key, key == "Enter"))
		return got[1], got[0]
	}
	b.Open("/desk")
	if first, held := sent("n"); first != 1 || held != 0 {
		t.Errorf("n takes %d orders, and %d while it is held", first, held)
	}
	b.Open("/desk/orders/" + id)
	b.Press("u")
	b.AwaitTrue(draftIs + `"saved"`)
	b.Follow("#verdict button.primary")
	if first, held := sent("Enter"); first != 1 || held != 0 {
		t.Errorf("Ctrl+Enter sends %d verdicts, and %d while it is held", first, held)
	}
}

// changeCatalog imports the catalog with a change.
func (w *world) changeCatalog(t *testing.T, change func(string) string) {
	t.Helper()
	_, err := w.Service.ImportCatalog(t.Context(), access.Operator, []byte(change(string(demo.Catalog))))
	must.NoError(t, err)
	must.NoError(t, w.Service.RefreshCatalog(t.Context()))
}

// TestReasonsByCategory checks that a reason is offered for the items of its categories, and everywhere when it has
// none.
func TestReasonsByCategory(t *testing.T) {
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	v := w.AsStaff(t, w.Mika)
	v.Get("/desk/orders/"+id).Want(t, http.StatusOK, `value="logo-misaligned"`, `value="stitching-irregular"`).
		Lacks(t, `value="sole-incorrect"`, `value="dial-printing-incorrect"`)
	v.Post("/desk/orders/"+id+"/draft", "outcome", "fake", "reason.fake", "sole-incorrect").Want(t, http.StatusNoContent)
	v.Get("/desk/orders/"+id).Want(t, http.StatusOK, `value="sole-incorrect"`) // what is chosen is shown
}

// TestTakeNext_Filter checks that the next order is one of those that the queue shows, also after a verdict, and that
// the way back leads to the queue as it was.
func TestTakeNext_Filter(t *testing.T) {
	w := newWorld(t)
	bag := w.queued(t)
	w.Clock.Advance(time.Second)
	watch, another := w.watch(t), w.watch(t)
	v := w.AsStaff(t, w.Mika)
	v.Get("/desk?tab=queue&category=watches").Want(t, http.StatusOK, `name="category" value="watches"`)
	if p := v.Post("/desk/next", "category", "watches"); p.Location != orderAt(watch) {
		t.Fatalf("the next watch is %q", p.Location)
	}
	v.Get(orderAt(watch)).Want(t, http.StatusOK, `href="/desk?category=watches&amp;tab=queue"`)
	if p := v.Post(orderAt(watch)+"/complete", "outcome", "unable-to-verify", "then",
		"next"); p.Location != orderAt(another) {
		t.Fatalf("after the verdict the next is %q", p.Location)
	}
	if p := v.Post("/desk/next", "brand", "casio", "category",
		"watches"); p.Location != "/desk?category=watches&tab=queue" {
		t.Errorf("without a further watch one comes to %q", p.Location)
	}
	v.Get("/desk").Want(t, http.StatusOK, "No queued order matches the filters.")
	if p := v.Post("/desk/next"); p.Location != orderAt(bag) {
		t.Errorf("without a filter the next is %q", p.Location)
	}
}

func orderAt(id string) string { return "/desk/orders/" + id }

// watch makes a Live order of a watch.
func (w *world) watch(t *testing.T) string {
	t.Helper()
	created, err := w.Service.CreateOrder(t.Context(), w.Live.Actor(access.Origin{}), &order.Draft{
		CategoryCode: "watches", BrandCode: "casio", ExternalID: new("W-7"), AnswerTime: 60,
		Photos: []order.DraftPhoto{
			{URL: w.Photo(t, w.Live), IndexCode: "overall-picture"},
			{URL: w.Photo(t, w.Live), IndexCode: "dial"},
			{URL: w.Photo(t, w.Live), IndexCode: "caseback"},
			{URL: w.Photo(t, w.Live), IndexCode: "serial-number"},
		},
	}, nil)
	must.NoError(t, err)
	return created.OrderID
}

// TestFind_Reference finds orders by what the customer calls them.
func TestFind_Reference(t *testing.T) {
	w := newWorld(t)
	bag := w.queued(t)
	v := w.AsStaff(t, w.Mika)
	if p := v.Get("/desk/find?q=SKU-1"); p.Location != orderAt(bag) {
		t.Errorf("the reference leads to %q", p.Location)
	}
	other := w.queued(t)
	v.Get("/desk/find?q=+SKU-1+").Want(t, http.StatusOK, orderAt(bag), orderAt(other))
	if p := v.Get("/desk/find?q=SKU"); p.Location != "/desk" {
		t.Errorf("a part of it leads to %q", p.Location)
	}
	v.Get("/desk?brand=chanel&tab=queue").Want(t, http.StatusOK)
	for _, text := range []string{"SKU", ""} { // back to what the queue shows
		if p := v.Get("/desk/find?q=" + text); p.Location != "/desk?brand=chanel&tab=queue" {
			t.Errorf("%q leads to %q", text, p.Location)
		}
	}
	v.Get("/desk/find?q=SKU-1").Want(t, http.StatusOK, `"/desk?brand=chanel&amp;tab=queue"`)
}

// TestClaimLimit says it clearly when somebody may take no more orders.
func TestClaimLimit(t *testing.T) {
	w := newWorld(t)
	w.Reconfigure(t, func(c *service.Config) { c.Limits.Claims = 5 })
	v := w.AsStaff(t, w.Mika)
	for range 6 {
		w.queued(t)
	}
	for range 5 {
		v.Post("/desk/next").Want(t, http.StatusSeeOther)
	}
	v.Submit("/desk/next").Want(t, http.StatusOK, "You already hold 5 orders")
}
