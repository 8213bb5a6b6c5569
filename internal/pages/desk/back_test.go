package desk_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// back goes one page back in the history.
func back(b *uitest.Browser, path string) {
	uitest.Eval[bool](b, `(globalThis.left = true, setTimeout(() => history.back()), true)`)
	b.AwaitTrue(`!globalThis.left && location.pathname === "` + path + `" && document.readyState === "complete"`)
}

// show tells a page that it is shown again, whole, as the browser had kept it. Once: a page that begins anew then must
// not be told again.
func show(b *uitest.Browser) {
	const event = `new PageTransitionEvent("pageshow", { persisted: true })`
	uitest.Eval[bool](b, `(setTimeout(() => dispatchEvent(`+event+`)), true)`)
}

// note is what the page of an order has as internal note.
func note(b *uitest.Browser) string {
	return value(b, "f-note")
}

// TestDraft_Back checks that the way back leads to the draft as it is now: what the page had when it was left is not
// shown again, and not stored over what was written since.
func TestDraft_Back(t *testing.T) {
	const long = "The stamp is worn, not forged: the serial number agrees with the year."
	t.Run("SameTab", func(t *testing.T) {
		w, id, b := newReview(t)
		at := "/desk/orders/" + id
		b.Fill("#f-note", "draft")
		b.Click(`label[for="o-authentic"]`)
		b.Follow("#verdict .primary")
		b.Fill("#f-note", long)
		b.Follow(`button[name="edit"]`)
		if got := note(b); got != long {
			t.Fatalf("the order has the note %q", got)
		}
		b.Click(`label[for="c-serial-number-3"]`)
		b.AwaitTrue(draftIs + `"saved"`)
		back(b, at+"/verdict")
		back(b, at)
		if got := note(b); got != long || !checked(b, "c-serial-number-3") {
			t.Errorf("on the way back the note is %q", got)
		}
		b.Click(`label[for="c-overall-picture-1"]`)
		b.AwaitTrue(draftIs + `"saved"`)
		got := w.draft(t, w.Mika, id)
		if got.Note != long || got.Outcome != order.Authentic || got.Checks["serial-number"] != order.MarkNotVisible ||
			got.Checks["overall-picture"] != order.MarkPass {
			t.Errorf("stored is %+v", got)
		}
	})
	t.Run("OtherTab", func(t *testing.T) {
		w, id, a := newReview(t)
		a.Fill("#f-note", "From the first tab.")
		a.Click(`label[for="o-fake"]`)
		a.AwaitTrue(draftIs + `"saved"`)
		a.Follow(`.eyebrow a`)
		b := a.Tab()
		b.Open("/desk/orders/" + id)
		b.Fill("#f-note", "From the second tab.")
		b.Click(`label[for="o-unable-to-verify"]`)
		b.AwaitTrue(draftIs + `"saved"`)
		back(a, "/desk/orders/"+id)
		if got := note(a); got != "From the second tab." || !checked(a, "o-unable-to-verify") {
			t.Errorf("on the way back the note is %q", got)
		}
		a.Follow("#verdict .primary")
		if got := w.draft(t, w.Mika, id); got.Note != "From the second tab." || got.Outcome != order.UnableToVerify {
			t.Errorf("stored is %+v", got)
		}
	})
	t.Run("PageWasKept", func(t *testing.T) { // whole, by the browser, with the version of then
		w, id, a := newReview(t)
		a.Allow("409")
		b := a.Tab()
		b.Open("/desk/orders/" + id)
		b.Fill("#f-note", "From the second tab.")
		b.AwaitTrue(draftIs + `"saved"`)
		show(a)
		a.AwaitTrue(`document.getElementById("f-note").value === "From the second tab." &&
			document.readyState === "complete"`)

		b.Fill("#f-note", "From the second tab again.")
		b.AwaitTrue(draftIs + `"saved"`)
		a.Offline(true)
		a.Allow("ERR_INTERNET_DISCONNECTED")
		a.Fill("#f-note", "From the first tab.")
		a.AwaitTrue(draftIs + `"unsaved"`)
		a.Offline(false)
		show(a)
		a.Await(`[data-note="newer"]`)
		if got := w.draft(t, w.Mika, id); got.Note != "From the second tab again." {
			t.Errorf("stored is %+v", got)
		}
	})
}
