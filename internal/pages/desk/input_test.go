package desk_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestKeys_Composing checks that the Enter which confirms a conversion of an input method chooses nothing.
func TestKeys_Composing(t *testing.T) {
	_, _, b := newReview(t)
	chosen := `document.querySelectorAll(".reasons[data-outcome=fake] :checked").length`
	b.Press("x") // leads to the filter of the reasons
	b.AwaitTrue(`document.activeElement.matches(".reason-filter")`)
	b.Compose("misaligned")
	b.AwaitTrue(`document.activeElement.value === "misaligned"`)
	b.ConfirmComposition()
	if n := uitest.Eval[int](b, chosen); n != 0 {
		t.Errorf("%d reasons are chosen while a text is converted", n)
	}
	b.Fill(".reasons[data-outcome=fake] .reason-filter", "misaligned")
	b.Press(kb.Enter)
	b.AwaitTrue(chosen + ` === 1`)
}

// TestFilters_Keyboard checks that filters can be chosen from with the keyboard: the page changes when a choice is
// made, not on the way there, and the field has the focus again.
func TestFilters_Keyboard(t *testing.T) {
	requires.Engine(t, "a browser")
	w := newWorld(t)
	b := uitest.NewBrowser(t, w.Server.URL)
	signIn(b, "mika@example.com")
	focus := func(field string) { uitest.Eval[bool](b, `document.getElementById("`+field+`").focus() === undefined`) }
	brand := func() string { return uitest.Eval[string](b, `document.getElementById("f-brand").value`) }
	loaded := func(field, path string) {
		t.Helper()
		b.AwaitTrue(`location.search.includes("` + path + `") && document.readyState === "complete" &&
			document.activeElement.id === "` + field + `"`)
	}
	b.Open("/desk")
	b.AwaitTrue(staleEmpty)
	focus("f-brand")
	before := b.Path()
	b.Press(kb.ArrowDown)
	b.Press(kb.ArrowDown)
	second := brand()
	if second == "" || b.Path() != before {
		t.Fatalf("after two keys %q is chosen, at %s", second, b.Path())
	}
	w.queued(t) // what comes meanwhile takes nothing away
	b.Press(kb.Enter)
	loaded("f-brand", "brand="+second)
	b.Press(kb.ArrowUp)
	first := brand()
	b.Press(kb.Tab)
	loaded("f-category", "brand="+first)
	b.Choose("#f-brand", second) // with the pointer: at once
	loaded("f-brand", "brand="+second)
	if n := uitest.Eval[int](b, `document.querySelectorAll("table.queue tbody tr").length`); n != 0 {
		t.Errorf("%d orders of another brand are shown", n)
	}
	b.Choose("#f-brand", "chanel")
	loaded("f-brand", "brand=chanel")
	w.queued(t)
	b.AwaitTrue(`document.querySelectorAll("table.queue tbody tr").length === 2 &&
		document.activeElement.id === "f-brand"`) // the board is brought up to date, and the focus stays
}

// asks reports whether the page asks before it is left.
func asks(b *uitest.Browser) bool {
	return uitest.Eval[bool](b, `!dispatchEvent(new Event("beforeunload", {cancelable: true}))`)
}

// TestRequest_Entered checks that what was entered for a photo request, or as a note, is not left without a question.
func TestRequest_Entered(t *testing.T) {
	_, id, b := newReview(t)
	b.Open("/desk/orders/" + id + "/request")
	if asks(b) {
		t.Error("the page asks though nothing was entered")
	}
	b.Click("#w-serial-number")
	if !asks(b) {
		t.Error("a chosen index is lost without a question")
	}
	b.Click("#w-serial-number")
	if asks(b) {
		t.Error("the page asks though it is as it was")
	}
	b.Click("#w-serial-number")
	b.Fill("#t-serial-number", strings.Repeat("long", 60))
	b.Follow(".sticky-actions .primary") // is sent without a question
	b.AwaitTrue(`location.pathname.endsWith("/request/preview")`)
	if wide := uitest.Eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		t.Errorf("a long word makes the preview %d px too wide", wide)
	}
	if !asks(b) {
		t.Error("the request of the preview is lost without a question")
	}
	b.Follow(`button[name="edit"]`)
	if !asks(b) {
		t.Error("what was entered before is lost without a question")
	}
	b.Follow(".sticky-actions .primary")
	b.Open("/desk/orders/" + id + "/fail")
	if asks(b) {
		t.Error("the page asks though nothing was entered")
	}
	b.Fill(`textarea[name="note"]`, "Nobody could tell.")
	if !asks(b) {
		t.Error("a note is lost without a question")
	}
	b.Fill(`textarea[name="note"]`, "")
}

// TestKeys_ConfirmFromAnywhere checks that Ctrl+Enter goes on to the confirmation wherever the focus is, but for other
// forms and dialogs.
func TestKeys_ConfirmFromAnywhere(t *testing.T) {
	_, id, b := newReview(t)
	b.Press("u")
	b.AwaitTrue(draftIs + `"saved"`)
	b.Press("?")
	b.Await("#help[open]")
	b.Press(kb.Enter, chromedp.ModifierCtrl)
	b.AwaitTrue(`location.pathname === "/desk/orders/` + id + `"`)
	b.Open("/desk/orders/" + id)
	uitest.Eval[any](b, `void document.querySelector("a[data-photo]").focus()`)
	b.Press(kb.Enter, chromedp.ModifierCtrl)
	b.Await(".confirm-actions")
}
