package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// TestDraft_TakenAway checks that what is typed after an order was taken away is not left without a question, is kept
// in the browser, and is stored when the order is theirs again: on its page, and when the order is opened again.
func TestDraft_TakenAway(t *testing.T) {
	w, id, b := newReview(t)
	b.Allow("409")
	at := "/desk/orders/" + id
	assign := func(to *access.Staff) {
		t.Helper()
		_, err := w.Service.ReassignOrder(t.Context(), w.Aoi.Actor(access.Origin{}), id, to.ID)
		must.NoError(t, err)
	}
	stored := func(note string) {
		t.Helper()
		b.AwaitTrue(draftIs + `"saved"`)
		if got := w.draft(t, w.Mika, id); got.Note != note {
			t.Errorf("stored is %+v", got)
		}
	}
	b.Fill("#f-note", "One.")
	b.AwaitTrue(draftIs + `"saved"`)
	assign(w.Ren)
	b.Fill("#f-note", "One. Two.")
	b.Await(`[data-note="lost"]`)
	b.Fill("#f-note", "One. Two. Three.")
	if !asks(b) {
		t.Error("what was typed is left without a question")
	}
	b.Open("/desk")
	if got := w.draft(t, w.Mika, id); got.Note != "One." {
		t.Errorf("stored is %+v", got)
	}
	b.Open(at)
	assign(w.Mika)
	b.Open(at)
	b.Await(`[data-note="restored"]`)
	if got := note(b); got != "One. Two. Three." {
		t.Errorf("the order, theirs again, has the note %q", got)
	}
	stored("One. Two. Three.")

	t.Run("ClaimExpired", func(t *testing.T) {
		now := w.Clock.Advance(3 * time.Hour)
		if n, err := w.Service.ExpireClaims(t.Context(), now.Add(-2*time.Hour), 10); err != nil || n != 1 {
			t.Fatalf("%d claims expired, %v", n, err)
		}
		b.Fill("#f-note", "Four.")
		b.Await(`[data-note="lost"]`)
		if got := b.Text(`[data-note="lost"]`); !strings.Contains(got, "Your claim on this order expired") {
			t.Errorf("who lost the order reads %q", got)
		}
		beside := b.Tab() // as the link of the note opens it
		beside.Open(uitest.Eval[string](b, `document.querySelector('[data-note="lost"] a[target]').getAttribute("href")`))
		beside.Follow(`form[action$="/claim"] button`)
		b.AwaitTrue(`(dispatchEvent(new Event("focus")), true)`)
		stored("Four.")
		if asks(b) {
			t.Error("the page asks though everything is stored")
		}
	})
}

// TestDraft_Ended checks that who goes on typing in another tab after the order has ended reads that nothing of it is
// saved, and for nobody.
func TestDraft_Ended(t *testing.T) {
	w, id, b := newReview(t)
	b.Allow("409")
	b.Press("u")
	b.AwaitTrue(draftIs + `"saved"`)
	_, err := w.Service.CompleteOrder(t.Context(), w.Mika.Actor(access.Origin{}), id,
		&order.Verdict{Outcome: order.UnableToVerify}, "")
	must.NoError(t, err)
	b.Fill("#f-note", "And one thing more.")
	b.Await(`[data-note="ended"]`)
	b.CheckAccessibility()
	got := b.Text(`[data-note="ended"]`)
	if !strings.Contains(got, "You have already finished this order.") || !strings.Contains(got, "is not saved") ||
		strings.Contains(got, "next reviewer") {
		t.Errorf("the page says %q", got)
	}
	if !asks(b) {
		t.Error("what was typed is left without a question")
	}
	if n := uitest.Eval[int](b, `localStorage.length`); n != 0 {
		t.Errorf("the browser keeps %d drafts that nobody can store", n)
	}
	w.AsStaff(t, w.Mika).Post("/desk/orders/"+id+"/draft?lang=ja", "note", "More.").
		Want(t, http.StatusConflict, `"kind":"ended"`, "この注文はすでにご自身で終了しています。")
	w.AsStaff(t, w.Ren).Post("/desk/orders/"+id+"/draft", "note", "More.").
		Want(t, http.StatusConflict, `"kind":"ended"`, "This order has ended.")
}
