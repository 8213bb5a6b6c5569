package desk_test

import (
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

const restored = `!document.querySelector("[data-note=restored]").hidden`

// value returns what a field of the page has.
func value(b *uitest.Browser, id string) string {
	return uitest.Eval[string](b, `document.getElementById("`+id+`").value`)
}

// TestRequest_Kept checks that a photo request which was not sent is there again after its tab was closed, until it is
// dropped or sent.
func TestRequest_Kept(t *testing.T) {
	w, id, b := newReview(t)
	at := "/desk/orders/" + id + "/request"
	enter := func() {
		b.Open(at)
		b.Click("#w-serial-number")
		b.Choose("#n-serial-number", "unclear")
		b.Click("#q-serial-number-0")
		b.Fill("#m-serial-number", "2")
		b.Fill("#t-serial-number", "Closer, please.")
		b.Fill("#u-serial-number", "https://example.com/a.jpg")
	}
	entered := func() bool {
		return checked(b, "w-serial-number") && checked(b, "q-serial-number-0") &&
			value(b, "n-serial-number") == "unclear" && value(b, "m-serial-number") == "2" &&
			value(b, "t-serial-number") == "Closer, please." && value(b, "u-serial-number") == "https://example.com/a.jpg"
	}
	enter()
	b.Open(at)
	b.AwaitTrue(restored)
	if !entered() || !asks(b) {
		t.Error("what was entered is not there again")
	}
	b.CheckAccessibility()
	b.Follow(".sticky-actions .primary")
	b.AwaitTrue(`location.pathname.endsWith("/request/preview")`)
	b.Open(at) // the preview is lost, too
	b.AwaitTrue(restored)
	if !entered() {
		t.Error("what was previewed is not there again")
	}
	b.Click("[data-kept-drop]")
	b.AwaitTrue("!(" + restored + ")")
	if checked(b, "w-serial-number") || value(b, "t-serial-number") != "" || asks(b) {
		t.Error("what was dropped is still there")
	}
	b.Open(at)
	if uitest.Eval[bool](b, restored) || value(b, "t-serial-number") != "" {
		t.Error("what was dropped comes back")
	}

	enter()
	b.Follow(".sticky-actions .primary")
	b.AwaitTrue(`location.pathname.endsWith("/request/preview")`)
	b.Follow(`button[value="queue"]`)
	b.AwaitTrue(`location.pathname === "/desk"`)
	_, err := w.Service.SubmitPhotos(t.Context(), w.Live.Actor(access.Origin{}), id, &order.Submission{
		Entries: []order.SubmissionEntry{{IndexCode: "serial-number", Unable: true}},
	})
	must.NoError(t, err)
	b.Open(at) // the second request begins anew
	if uitest.Eval[bool](b, restored) || value(b, "t-serial-number") != "" {
		t.Error("what was sent comes back")
	}
}

// TestConfirm_Kept checks the same for the note of a verdict against the checklist. That one knows is said anew.
func TestConfirm_Kept(t *testing.T) {
	w, id, b := newReview(t)
	b.Press("a")
	b.Follow("#verdict .primary")
	at := "/desk/orders/" + id + "/verdict"
	b.AwaitTrue(`location.pathname === "` + at + `"`)
	b.Click("#f-despite")
	b.Fill("#f-note", "The stamp is worn.")
	b.Open(at)
	b.AwaitTrue(restored)
	if value(b, "f-note") != "The stamp is worn." || checked(b, "f-despite") {
		t.Error("the note is not there again, or more than the note is")
	}
	b.Fill("#f-note", "The stamp is worn, not forged.")
	b.Follow(`button[name="edit"]`)
	b.Fill("#f-note", "It is worn.")
	b.AwaitTrue(draftIs + `"saved"`)
	b.Open(at)
	if uitest.Eval[bool](b, restored) || value(b, "f-note") != "It is worn." {
		t.Errorf("the copy of an older note comes back: %q", value(b, "f-note"))
	}
	w.AsStaff(t, w.Mika).Get(at+"?lang=ja").Want(t, http.StatusOK, "復元しました", "破棄する")
}
