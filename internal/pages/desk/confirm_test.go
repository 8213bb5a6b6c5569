package desk_test

import (
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestConfirm_NoteIsKept checks that the note written on the page of confirmation is lost by no way that leads from it.
func TestConfirm_NoteIsKept(t *testing.T) {
	w := newWorld(t)
	v := w.AsStaff(t, w.Mika)
	const note = "The stamp is worn, not forged."
	begun := func(t *testing.T) (id, at string) {
		t.Helper()
		id = w.claimed(t, w.Mika)
		at = "/desk/orders/" + id
		v.Submit(at+"/verdict", "outcome", "authentic", "check.serial-number", "fail").
			Want(t, http.StatusOK, "does not support this verdict")
		return id, at
	}
	t.Run("Edit", func(t *testing.T) {
		id, at := begun(t)
		p := v.Post(at+"/complete", "outcome", "authentic", "note", note, "edit", "1").Want(t, http.StatusSeeOther)
		if p.Location != at {
			t.Errorf("it leads to %s", p.Location)
		}
		v.Get(at).Want(t, http.StatusOK, note)
		got := w.draft(t, w.Mika, id)
		if got.Note != note || got.Outcome != order.Authentic || got.Checks["serial-number"] != order.MarkFail {
			t.Errorf("the draft is %+v", got)
		}
		if got := w.order(t, id).Status; got != order.Processing {
			t.Errorf("the order is in %s", got)
		}
	})
	t.Run("Reassigned", func(t *testing.T) {
		id, at := begun(t)
		_, err := w.Service.ReassignOrder(t.Context(), w.Aoi.Actor(access.Origin{}), id, w.Ren.ID)
		must.NoError(t, err)
		for _, end := range [][]string{{"despite", "1", "then", "next"}, {}, {"edit", "1"}} {
			v.Post(at+"/complete", append([]string{"outcome", "authentic", "note", note}, end...)...).
				Want(t, http.StatusConflict, note, "reassigned this order to Ren Ito", `name="outcome" value="authentic"`).
				Lacks(t, `name="edit"`)
		}
	})
	t.Run("Catalog", func(t *testing.T) { // no longer has the reason
		id, at := begun(t)
		v.Submit(at+"/complete", "outcome", "fake", "reason_codes", "gone", "index_codes", "serial-number", "note", note).
			Want(t, http.StatusOK, "The catalog has changed", note)
		if got := w.draft(t, w.Mika, id); got.Note != note || got.Outcome != order.Authentic {
			t.Errorf("the draft is %+v", got)
		}
	})
}

// TestConfirm_Entered checks that the note written on the page of confirmation is not left without a question, and that
// the way back to the page does not bring an older one over what the draft has.
func TestConfirm_Entered(t *testing.T) {
	w, id, b := newReview(t)
	at := "/desk/orders/" + id
	b.Press("a")
	b.Follow("#verdict .primary")
	if asks(b) {
		t.Error("the page asks though nothing was entered")
	}
	b.Fill("#f-note", "The stamp is worn.")
	if !asks(b) {
		t.Error("a note is lost without a question")
	}
	b.Follow(`button[name="edit"]`)
	b.Fill("#f-note", "The stamp is worn, not forged.")
	b.AwaitTrue(draftIs + `"saved"`)
	back(b, at+"/verdict")
	if got := note(b); got != "The stamp is worn, not forged." || asks(b) {
		t.Errorf("on the way back the note is %q", got)
	}
	w.AsStaff(t, w.Mika).Post(at+"/complete", "outcome", "authentic", "note", "Sure.").
		Want(t, http.StatusUnprocessableEntity, `data-entered="before"`) // nothing but the page has it
}
