package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// twoPhotos makes a Live order with two photos of one index, which a staff user has claimed.
func (w *world) twoPhotos(t *testing.T, who *access.Staff) string {
	t.Helper()
	id := w.queuedWith(t, "overall-picture", "overall-picture", "brand-stamp", "serial-number")
	_, err := w.Service.ClaimOrder(t.Context(), who.Actor(access.Origin{}), id)
	must.NoError(t, err)
	return id
}

// draft returns what is stored of somebody's work on an order.
func (w *world) draft(t *testing.T, who *access.Staff, id string) *order.KeptDraft {
	t.Helper()
	d, err := w.Service.VerdictDraft(t.Context(), who.ID, id)
	must.NoError(t, err)
	return d
}

// reviewing opens an order as a reviewer in a browser.
func (w *world) reviewing(t *testing.T, id string) *uitest.Browser {
	t.Helper()
	b := uitest.NewBrowser(t, w.Server.URL)
	signIn(b, "mika@example.com")
	b.Open("/desk/orders/" + id)
	return b
}

// newReview is a new world whose first order Mika has claimed, and a browser in which she looks at it.
func newReview(t *testing.T) (w *world, id string, b *uitest.Browser) {
	t.Helper()
	requires.Engine(t, "a browser")
	w = newWorld(t)
	id = w.claimed(t, w.Mika)
	return w, id, w.reviewing(t, id)
}

func checked(b *uitest.Browser, id string) bool {
	return uitest.Eval[bool](b, `document.getElementById("`+id+`").checked`)
}

const draftIs = `document.documentElement.dataset.draft === `

// TestMarks_KeysSet checks that a key sets a mark and never takes it back, and that what a mark replaces comes back.
func TestMarks_KeysSet(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	id := w.twoPhotos(t, w.Mika)
	b := w.reviewing(t, id)
	b.Press(kb.Enter) // the first photo
	b.Await("#viewer")
	for _, key := range []string{"f", "j", "f"} {
		b.Press(key)
	}
	if !checked(b, "c-overall-picture-2") || !checked(b, "a-overall-picture") {
		t.Error("marking the second photo of an index takes the mark back")
	}
	b.AwaitGone("#viewer .undo")
	b.Press("P") // replaces the mark and stays
	b.Await("#viewer .undo")
	if got := b.Text("#viewer .undo"); !strings.Contains(got, "Fail → Pass") {
		t.Errorf("what was replaced reads %q", got)
	}
	if !checked(b, "c-overall-picture-1") || checked(b, "a-overall-picture") {
		t.Error("the new mark is not set")
	}
	b.Press("z")
	b.AwaitGone("#viewer .undo")
	if !checked(b, "c-overall-picture-2") || !checked(b, "a-overall-picture") {
		t.Error("undo does not bring the mark back")
	}
	b.Press(kb.Backspace)
	b.Await("#viewer .undo")
	b.Click("#viewer [data-undo]")
	b.Press(kb.Escape)
	b.AwaitGone("#viewer")
	b.Click(`label[for="a-overall-picture"]`) // by mouse: what gives nothing away has not failed
	b.Await(".undo-place .undo")
	b.Click(".undo-place [data-undo]")
	b.AwaitTrue(draftIs + `"saved"`)
	if got := w.draft(t, w.Mika, id); got.Checks["overall-picture"] != order.MarkFail || len(got.IndexCodes) != 1 {
		t.Errorf("stored are %v, %v", got.Checks, got.IndexCodes)
	}
}

// TestDraft_SessionEnds checks that somebody whose session ends while they write is told, loses nothing, and goes on
// after signing in in another tab.
func TestDraft_SessionEnds(t *testing.T) {
	w, id, b := newReview(t)
	b.Allow("401")
	b.SignOut()
	b.Press("x")
	b.Click(`label[for="r-logo-misaligned"]`)
	b.Fill("#own-en", "The stamp is too deep.")
	b.Await(`[data-note="signed-out"]`)
	for _, width := range []int{uitest.DeskWidth, uitest.TabletWidth, uitest.PhoneWidth} { // while one writes below it
		b.Resize(width)
		b.AwaitTrue(`(document.getElementById("f-note").scrollIntoView({ block: "center" }), true)`)
		if !uitest.Eval[bool](b, `(({ left, top }, note) => note.contains(document.elementFromPoint(left + 30, top + 20)))(
			document.querySelector('[data-note="signed-out"]').getBoundingClientRect(),
			document.querySelector('[data-note="signed-out"]'))`) {
			t.Errorf("at %d px the note is out of sight", width)
		}
	}
	b.Resize(uitest.DeskWidth)
	b.CheckAccessibility()
	b.Screenshot("signed-out")
	b.Click("#verdict .primary") // stays where the work is
	b.AwaitTrue(`!document.querySelector("#verdict .primary").disabled`)
	if got := b.Path(); got != "/desk/orders/"+id {
		t.Fatalf("the page is now %s", got)
	}
	beside := b.Tab()
	beside.Open(uitest.Eval[string](b, `document.querySelector('[data-note="signed-out"] a').getAttribute("href")`))
	beside.Fill("#f-email", "mika@example.com")
	beside.Fill("#f-password", password)
	beside.Follow(".signin .primary")
	if got := beside.Path(); got != "/desk/signed-in" {
		t.Errorf("signing in leads to %s", got)
	}
	b.AwaitTrue(draftIs + `"saved"`) // by itself
	if got := w.draft(t, w.Mika, id); got.Outcome != order.Fake || got.ReasonText.EN != "The stamp is too deep." ||
		len(got.ReasonCodes) != 1 {
		t.Errorf("stored is %+v", got)
	}
	b.AwaitGone(`[data-note="signed-out"]`)
	b.Follow("#verdict .primary")
	if got := b.Path(); got != "/desk/orders/"+id+"/verdict" {
		t.Errorf("going on leads to %s", got)
	}

	t.Run("Confirmation", func(t *testing.T) {
		b.SignOut()
		b.Click(`button[name=then][value=queue]`)
		b.Await(`[data-note="signed-out"]`)
	})
	t.Run("WithoutScripts", func(t *testing.T) {
		b.Scripts(false)
		b.Open("/desk/orders/" + id) // leads to the sign-in
		b.Fill("#f-email", "mika@example.com")
		b.Fill("#f-password", password)
		b.Follow(".signin .primary")
		b.SignOut()
		b.Follow("#verdict .primary")
		b.Fill("#f-email", "mika@example.com")
		b.Fill("#f-password", password)
		b.Follow(".signin .primary")
		if got := b.Path(); got != "/desk/orders/"+id {
			t.Errorf("signing in after a form leads to %s", got)
		}
	})
}

// TestSignedOut_OverHTTP checks that the same holds where browsers do not tell that a script asks: over plain HTTP.
func TestSignedOut_OverHTTP(t *testing.T) {
	w, id, b := newReview(t)
	all := w.Server.Config.Handler
	w.Server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-Dest", "Sec-Fetch-User"} {
			r.Header.Del(name)
		}
		all.ServeHTTP(rw, r)
	})
	queue := b.Tab()
	queue.Allow("401") // of a stream that is opened, or opened again, without a session
	queue.Open("/desk")
	queue.AwaitTrue(staleEmpty)
	b.SignOut()
	b.Press("x")
	b.Fill("#own-en", "The stamp is too deep.")
	b.Await(`[data-note="signed-out"]`)
	b.Click("#verdict .primary") // stays where the work is
	b.AwaitTrue(`!document.querySelector("#verdict .primary").disabled`)
	if got := b.Path(); got != "/desk/orders/"+id {
		t.Errorf("the page is now %s", got)
	}
	w.queued(t)
	queue.AwaitTrue(staleSays + `("You are signed out. Sign in")`)
	if got := queue.Count("#board .signin"); got != 0 {
		t.Error("the queue shows the sign-in")
	}
	beside := b.Tab()
	signIn(beside, "mika@example.com")
	beside.Open("/desk/signed-in")
	b.AwaitTrue(draftIs + `"saved"`) // by itself
	queue.AwaitTrue(staleEmpty)
	if got := w.draft(t, w.Mika, id); got.ReasonText.EN != "The stamp is too deep." {
		t.Errorf("stored is %+v", got)
	}
}

// TestDraft_SomebodyElse checks that a draft is never stored as that of another staff user who signs in meanwhile.
func TestDraft_SomebodyElse(t *testing.T) {
	w, id, b := newReview(t)
	b.Allow("401", "409")
	b.SignOut()
	beside := b.Tab()
	signIn(beside, "aoi@example.com") // who may judge what others hold
	b.Press("x")
	b.Await(`[data-note="other"]`)
	if got := b.Text(`[data-note="other"]`); !strings.Contains(got, "signed in as Aoi Mori") {
		t.Errorf("the page says %q", got)
	}
	if got := w.draft(t, w.Aoi, id); got.Version != 0 {
		t.Errorf("stored is %+v", got)
	}
	beside.Follow("form[action='/desk/sign-out'] button")
	signIn(beside, "mika@example.com")
	beside.Open("/desk/signed-in")
	b.AwaitTrue(draftIs + `"saved"`) // by itself
	if got := w.draft(t, w.Mika, id); got.Outcome != order.Fake {
		t.Errorf("stored is %+v", got)
	}
}

// TestDraft_OtherOutcome checks that the reasons of an outcome are still chosen after another one was tried.
func TestDraft_OtherOutcome(t *testing.T) {
	w, id, b := newReview(t)
	b.Press("x")
	b.Click(`label[for="r-logo-misaligned"]`)
	b.Press("a")
	b.AwaitTrue(draftIs + `"saved"`)
	b.Open("/desk/orders/" + id)
	b.Press("x")
	if !checked(b, "r-logo-misaligned") {
		t.Error("the reason is gone")
	}
	b.AwaitTrue(draftIs + `"saved"`)
	got := w.draft(t, w.Mika, id)
	if got.Outcome != order.Fake || !slices.Equal(got.ReasonCodes, []string{"logo-misaligned"}) {
		t.Errorf("stored is %+v", got)
	}
}

// TestDraft_Offline checks that the page tells saved and not saved apart, tries again by itself, warns before it is
// left, and brings back what this browser has kept.
func TestDraft_Offline(t *testing.T) {
	w, id, b := newReview(t)
	b.Allow("ERR_INTERNET_DISCONNECTED", "ERR_FAILED")
	b.Press("u")
	b.AwaitTrue(draftIs + `"saved"`)
	if asks(b) {
		t.Error("the page warns though everything is saved")
	}
	b.Offline(true)
	b.Press("a")
	b.AwaitTrue(draftIs + `"saving"`)
	b.AwaitTrue(draftIs + `"unsaved"`)
	if got := b.Text("#verdict .draft-state"); got != "Not saved" {
		t.Errorf("offline the page says %q", got)
	}
	b.Await(`[data-note="unsaved"]`)
	if !asks(b) {
		t.Error("the page does not warn before it is left")
	}
	b.Click("#verdict .primary")
	b.AwaitTrue(`!document.querySelector("#verdict .primary").disabled`)
	if got := w.draft(t, w.Mika, id); got.Outcome != order.UnableToVerify {
		t.Errorf("the server has %q", got.Outcome)
	}
	b.Offline(false)
	b.AwaitTrue(draftIs + `"saved"`) // by itself
	if got := w.draft(t, w.Mika, id); got.Outcome != order.Authentic {
		t.Errorf("the server has %q", got.Outcome)
	}

	b.Offline(true)
	b.Fill("#f-note", "Typed in a tunnel.")
	b.AwaitTrue(draftIs + `"unsaved"`)
	restarted := b.Tab() // as after a crash of the first one
	restarted.Open("/desk/orders/" + id)
	restarted.AwaitTrue(`document.getElementById("f-note").value === "Typed in a tunnel."`)
	restarted.AwaitTrue(draftIs + `"saved"`)
	if got := w.draft(t, w.Mika, id); got.Note != "Typed in a tunnel." {
		t.Errorf("the server has %q", got.Note)
	}
}

// TestDraft_LostAnswer checks that a draft that was stored and whose answer was lost is not taken for that of another
// tab: not when the reviewer goes on, and not when they open the order again.
func TestDraft_LostAnswer(t *testing.T) {
	w, id, b := newReview(t)
	const note = `const note = document.getElementById("f-note"); note.value = %q;
		note.dispatchEvent(new Event("input", { bubbles: true }));`
	lose := func(text string) { // the request arrives, the answer does not, and nothing after it
		t.Helper()
		b.AwaitTrue(`(() => { const real = window.fetch; window.real = real;
			window.fetch = async (...args) => {
				window.fetch = () => Promise.reject(new TypeError("offline"));
				await real(...args);
				throw new TypeError("lost");
			};` + fmt.Sprintf(note, text) + `return true })()`)
		b.AwaitTrue(draftIs + `"unsaved"`)
		if got := w.draft(t, w.Mika, id); got.Note != text {
			t.Fatalf("stored is %+v", got)
		}
	}
	lose("Zero.") // and back to what the page knows to be stored: that is not what the server has
	b.AwaitTrue(`(() => { window.fetch = window.real;` + fmt.Sprintf(note, "") + `return true })()`)
	b.AwaitTrue(draftIs + `"saved"`)
	if got := w.draft(t, w.Mika, id); got.Note != "" {
		t.Errorf("stored is %+v", got)
	}
	lose("One.")
	b.AwaitTrue(`(() => { window.fetch = window.real;` + fmt.Sprintf(note, "One. Two.") + `return true })()`)
	b.AwaitTrue(draftIs + `"saved"`)
	if got := w.draft(t, w.Mika, id); got.Note != "One. Two." {
		t.Errorf("stored is %+v", got)
	}

	lose("Three.")
	b.AwaitTrue(`(() => {` + fmt.Sprintf(note, "Three. Four.") + `return true })()`)
	restarted := b.Tab() // as after a crash of the first one
	restarted.Open("/desk/orders/" + id)
	restarted.AwaitTrue(`document.getElementById("f-note").value === "Three. Four."`)
	restarted.AwaitTrue(draftIs + `"saved"`)
	restarted.Await(`[data-note="restored"]`)
	if got := w.draft(t, w.Mika, id); got.Note != "Three. Four." {
		t.Errorf("stored is %+v", got)
	}
	b.Allow("409")
	b.AwaitTrue(`(() => { window.fetch = window.real;` + fmt.Sprintf(note, "Five.") + `return true })()`)
	b.Await(`[data-note="newer"]`) // the first one was no crash, and now is another tab
}

// TestDraft_Leaving checks that what was entered right before the page is left is stored: before the order is released,
// before the request for photos is made from it, and when one just goes.
func TestDraft_Leaving(t *testing.T) {
	w, id, b := newReview(t)
	left := func(field, way string) { // both in one moment
		t.Helper()
		b.AwaitTrue(`(() => { document.getElementById("` + field + `").click(); ` + way + `; return true })()`)
	}
	clicks := func(selector string) string { return "document.querySelector(`" + selector + "`).click()" }
	left("c-brand-stamp-3", clicks(`a[href$="/request"]`))
	b.AwaitTrue(`location.pathname.endsWith("/request") && document.readyState === "complete"`)
	if !checked(b, "w-brand-stamp") {
		t.Error("what was marked as not visible is not asked for")
	}

	b.Open("/desk/orders/" + id)
	left("o-fake", `location.href = "/desk"`)
	b.AwaitTrue(`location.pathname === "/desk" && document.readyState === "complete"`)
	stored := func(what string, want order.Outcome) {
		t.Helper()
		must.Eventually(t, time.Minute, what+" is stored", func() bool {
			return w.draft(t, w.Mika, id).Outcome == want
		})
	}
	stored("what was entered before one went", order.Fake)

	b.Open("/desk/orders/" + id) // and while a save is under way that takes its time
	b.AwaitTrue(`(() => {
		const really = globalThis.fetch;
		globalThis.fetch = (...how) => {
			globalThis.fetch = really;
			globalThis.saving = true;
			return new Promise(() => {});
		};
		document.getElementById("o-authentic").click();
		return true;
	})()`)
	b.AwaitTrue("globalThis.saving === true")
	left("o-unable-to-verify", `location.href = "/desk"`)
	b.AwaitTrue(`location.pathname === "/desk" && document.readyState === "complete"`)
	stored("what was entered while a save was under way", order.UnableToVerify)

	b.Open("/desk/orders/" + id)
	b.Allow("ERR_INTERNET_DISCONNECTED")
	b.Offline(true)
	left("o-authentic", clicks(`form[action$="/release"] button`))
	b.Await(`[data-note="unsaved"]`) // stays where the work is
	if got := w.order(t, id); got.Status != order.Processing {
		t.Errorf("the order is %s", got.Status)
	}
	b.Offline(false)
	b.AwaitTrue(draftIs + `"saved"`)
	left("o-unable-to-verify", clicks(`form[action$="/release"] button`))
	b.AwaitTrue(`location.pathname === "/desk" && document.readyState === "complete"`)
	if got := w.order(t, id); got.Status != order.Queued {
		t.Errorf("the order is %s", got.Status)
	}
	if got := w.draft(t, w.Mika, id); got.Outcome != order.UnableToVerify {
		t.Errorf("stored is %q", got.Outcome)
	}

	other := w.claimed(t, w.Mika)
	b.Open("/desk/orders/" + other)
	b.Follow(`form[action$="/release"] button`) // nothing was entered
	if got := w.order(t, other); got.Status != order.Queued {
		t.Errorf("the other order is %s", got.Status)
	}
}

// TestDraft_TwoTabs checks that the older of two tabs does not replace the work of the other unasked.
func TestDraft_TwoTabs(t *testing.T) {
	w, id, a := newReview(t)
	b := a.Tab()
	a.Allow("409")
	b.Allow("409")
	b.Open("/desk/orders/" + id)
	a.Press("x")
	a.Fill("#own-en", "From the first tab.")
	a.AwaitTrue(draftIs + `"saved"`)

	b.Fill("#f-note", "From the second tab.")
	b.AwaitTrue(`(dispatchEvent(new Event("pagehide")), dispatchEvent(new Event("pagehide")))`) // one waits for the other
	b.Await(`[data-note="newer"]`)
	b.CheckAccessibility()
	if got := w.draft(t, w.Mika, id); got.ReasonText.EN != "From the first tab." || got.Note != "" {
		t.Errorf("stored is %+v", got)
	}
	b.Click(`[data-draft-do="keep"]`)
	b.AwaitTrue(draftIs + `"saved"`)
	if got := w.draft(t, w.Mika, id); got.Note != "From the second tab." || got.ReasonText.EN != "" {
		t.Errorf("taken over is %+v", got)
	}

	a.Fill("#own-en", "From the first tab again.")
	a.Await(`[data-note="newer"]`)
	a.Click(`[data-draft-do="drop"]`)
	a.AwaitTrue(`document.getElementById("f-note").value === "From the second tab."`)
	a.AwaitTrue(`document.getElementById("own-en").value === ""`)

	t.Run("WithoutScripts", func(t *testing.T) {
		v := w.AsStaff(t, w.Mika)
		older := []string{"draft_version", "1", "outcome", "unable-to-verify", "note", "Older."}
		v.Post("/desk/orders/"+id+"/verdict", older...).Want(t, 409, "changed in another tab", "Older.",
			`name="draft_version" value="2"`)
		older[1] = "2"
		v.Post("/desk/orders/"+id+"/verdict", older...).Want(t, 303)
	})
}

// TestDraft_HandedOver checks that the next reviewer sees what a colleague had entered, as the colleague's, and that
// who loses an order is told by whom.
func TestDraft_HandedOver(t *testing.T) {
	w, id, b := newReview(t)
	b.Allow("409")
	b.Press("x")
	b.Click(`label[for="r-logo-misaligned"]`)
	b.Click(`label[for="c-serial-number-2"]`)
	b.Fill("#f-note", "Ask Ren about the font.")
	b.AwaitTrue(draftIs + `"saved"`)
	w.AsStaff(t, w.Aoi).Submit("/desk/orders/"+id+"/reassign", "assignee_id", w.Ren.ID).Want(t, 200, "assigned to Ren Ito")

	b.Fill("#f-note", "Ask Ren about the font. And the ink.")
	b.Await(`[data-note="lost"]`)
	if got := b.Text(`[data-note="lost"]`); !strings.Contains(got, "Aoi Mori reassigned this order to Ren Ito.") {
		t.Errorf("who lost the order reads %q", got)
	}
	b.CheckAccessibility()
	beside := b.Tab()
	beside.Open("/desk")
	if got := beside.Text(".lost-order"); !strings.Contains(got, "Aoi Mori reassigned this order to Ren Ito.") {
		t.Errorf("the queue says %q", got)
	}
	beside.Open(uitest.Eval[string](b, `document.querySelector('[data-note="lost"] a').getAttribute("href")`))
	if got := beside.Text(".lost-order"); !strings.Contains(got, "Aoi Mori reassigned this order to Ren Ito.") {
		t.Errorf("the order then says %q", got)
	}
	beside.Open("/desk")
	if n := beside.Count(".lost-order"); n != 0 {
		t.Errorf("the queue tells %d losses that have been seen", n)
	}

	ren := uitest.NewBrowser(t, w.Server.URL)
	signIn(ren, "ren@example.com")
	ren.Open("/desk/orders/" + id)
	got := ren.Text(".colleague")
	for _, want := range []string{"Draft by Mika Sato", "Fake", "Logo stamping is misaligned", "Ask Ren about the font."} {
		if !strings.Contains(got, want) {
			t.Errorf("the colleague's draft lacks %q: %q", want, got)
		}
	}
	if mark := ren.Text("#index-serial-number .colleague-mark"); mark != "Mika Sato: Fail" {
		t.Errorf("the colleague's mark reads %q", mark)
	}
	if checked(ren, "o-fake") || checked(ren, "c-serial-number-2") {
		t.Error("the colleague's draft is filled in unasked")
	}
	ren.CheckAccessibility()
	ren.Screenshot("colleague")
	ren.Follow(".colleague button")
	if !checked(ren, "o-fake") || !checked(ren, "c-serial-number-2") {
		t.Error("the draft is not taken over")
	}

	v := w.AsStaff(t, w.Ren)
	v.Submit("/desk/orders/"+id+"/release").Want(t, 200)
	v.Get("/desk/orders/"+id).Lacks(t, "returned this order") // they did it themselves
	_, err := w.Service.ClaimOrder(t.Context(), w.Mika.Actor(access.Origin{}), id)
	must.NoError(t, err)
	w.AsStaff(t, w.Aoi).Submit("/desk/orders/"+id+"/release").Want(t, 200)
	w.AsStaff(t, w.Mika).Get("/desk/orders/"+id).Want(t, 200, "Aoi Mori returned this order to the queue.",
		"Draft by Ren Ito")
}

// TestDraft_Taken checks that a colleague's draft replaces what one has entered oneself only after both were seen.
func TestDraft_Taken(t *testing.T) {
	w := newWorld(t)
	id := w.claimed(t, w.Mika)
	page, take := "/desk/orders/"+id, "/desk/orders/"+id+"/draft/take"
	theirs := &order.VerdictDraft{
		Outcome: order.Fake, ReasonCodes: []string{"logo-misaligned"}, Note: "The font is wrong.",
		Checks: map[string]order.Mark{"serial-number": order.MarkFail},
	}
	_, err := w.Service.SaveVerdictDraft(t.Context(), w.Aoi.Actor(access.Origin{}), id, theirs, 0)
	must.NoError(t, err)
	v := w.AsStaff(t, w.Mika)
	if got := v.Get(take).Want(t, 303).Location; got != page {
		t.Errorf("who has no draft is led to %s", got)
	}
	v.Post(page+"/draft", "outcome", "authentic", "check.brand-stamp", "pass", "note", "Mine.").Want(t, 204)
	if got := v.Post(take).Want(t, 303).Location; got != take {
		t.Errorf("who has a draft is led to %s", got)
	}
	asked := v.Get(take).Want(t, 200, "Replace your draft?", "Mine.", ": Pass", "Draft by Aoi Mori",
		"The font is wrong.", "microchip plate: Fail", `name="draft_version" value="1"`)
	asked.Lacks(t, `value="2"`)
	v.Post(page+"/draft", "outcome", "authentic", "note", "Mine, and more.").Want(t, 204)
	if got := v.Post(take, "draft_version", "1").Want(t, 303).Location; got != take {
		t.Errorf("who has seen an older draft of their own is led to %s", got)
	}
	if got := w.draft(t, w.Mika, id); got.Note != "Mine, and more." {
		t.Fatalf("unasked, the draft is now %+v", got)
	}
	v.Submit(take, "draft_version", "2").Want(t, 200, "Aoi Mori’s draft is now yours.")
	if got := w.draft(t, w.Mika, id); !got.Equal(theirs) {
		t.Errorf("the draft is now %+v", got)
	}
}

// TestConfirm_Against checks that an authentic verdict against the checklist is given knowingly only.
func TestConfirm_Against(t *testing.T) {
	w := newWorld(t)
	id := w.twoPhotos(t, w.Mika)
	v := w.AsStaff(t, w.Mika)
	v.Submit("/desk/orders/"+id+"/verdict", "outcome", "authentic", "check.overall-picture", "pass", "check.brand-stamp",
		"fail", "check.serial-number", "not-visible").
		Want(t, 200, "does not support this verdict", `mark-fail`, `mark-not-visible`, `name="despite"`).
		Lacks(t, "mark-open", "mark-pass")
	complete := "/desk/orders/" + id + "/complete"
	for _, fields := range [][]string{{}, {"despite", "1"}, {"note", "Sure."}, {"despite", "1", "note", " "}} {
		v.Post(complete, append([]string{"outcome", "authentic"}, fields...)...).Want(t, 422, "does not support this verdict")
	}
	if got := w.order(t, id); got.Status != order.Processing {
		t.Fatalf("the order is %s", got.Status)
	}
	v.Submit(complete, "outcome", "authentic", "despite", "1", "note", "The stamp is worn, not forged.").
		Want(t, 200, "is completed: Authentic.")

	passed := w.claimed(t, w.Mika)
	v.Submit("/desk/orders/"+passed+"/verdict", "outcome", "authentic", "check.overall-picture", "pass",
		"check.brand-stamp", "pass", "check.serial-number", "pass").Want(t, 200).Lacks(t, "does not support", "despite")
	v.Submit("/desk/orders/"+passed+"/complete", "outcome", "authentic").Want(t, 200, "is completed: Authentic.")

	unchecked := w.claimed(t, w.Mika)
	v.Submit("/desk/orders/"+unchecked+"/verdict", "outcome", "authentic").Want(t, 200, "mark-open", `name="despite"`)
	v.Submit("/desk/orders/"+unchecked+"/verdict", "outcome", "unable-to-verify").Want(t, 200).Lacks(t, `name="despite"`)
}
