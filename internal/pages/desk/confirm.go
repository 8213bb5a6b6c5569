package desk

import (
	"encoding/json"
	"net/http"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

// confirmView shows exactly what the customer will get, and what speaks against it.
type confirmView struct {
	*orderPage
	After   *order.Order // the order as it will be
	Form    *ui.Form
	Note    string
	Answers []answerView   // one for each language
	Sent    *order.Verdict // what a yes gives
	Against []doubt
}

// doubt is an index that does not bear out that an item is authentic.
type doubt struct {
	*indexGroup
	Mark order.Mark // empty: nobody has checked it
}

// against returns what speaks against a verdict, by the checklist: an authentic item has passed at every index.
func (v *orderPage) against(verdict *order.Verdict, checks map[string]order.Mark) []doubt {
	if verdict.Outcome != order.Authentic {
		return nil
	}
	var list []doubt
	for _, mark := range []order.Mark{order.MarkFail, order.MarkNotVisible, ""} { // the worst first
		for _, g := range v.Groups {
			if checks[g.Code] == mark {
				list = append(list, doubt{g, mark})
			}
		}
	}
	return list
}

// answerView is the answer to the customer in one language.
type answerView struct {
	Locale  text.Locale
	Name    string
	Outcome string
	Reasons []string
	Indexes []string
	JSON    string // what the detail of the order will hold
}

func (d *Desk) confirmVerdict(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	err = d.renderConfirm(w, r, who, v, v.Draft.Verdict(), ui.NewForm("note", v.Draft.Note))
	if invalid(err) { // there is no draft, or the catalog has changed since
		return d.Site.Redirect(w, r, orderPath(v.ID))
	}
	if err != nil {
		return d.notMoved(w, r, err)
	}
	return nil
}

// renderConfirm shows the page, or returns why the verdict cannot be given.
func (d *Desk) renderConfirm(
	w http.ResponseWriter, r *http.Request, who *visitor, v *orderPage, verdict *order.Verdict, form *ui.Form,
) error {
	note := form.Get("note")
	after, err := d.Service.PreviewVerdict(r.Context(), actorOf(who), v.ID, verdict, note)
	if err != nil {
		return err
	}
	page := confirmView{
		orderPage: v, After: after, Form: form, Note: note, Sent: verdict, Against: v.against(verdict, v.Draft.Checks),
	}
	for _, l := range text.Locales {
		a := answerView{Locale: l, Name: ui.LanguageNames[l], Outcome: after.Outcome.Label().In(l)}
		for _, reason := range after.PublicReasons() {
			a.Reasons = append(a.Reasons, reason.Text.In(l))
		}
		for _, code := range after.OutcomeIndexes {
			a.Indexes = append(a.Indexes, v.indexName(code, l))
		}
		if a.JSON, err = d.detailJSON(after, l); err != nil {
			return err
		}
		page.Answers = append(page.Answers, a)
	}
	return d.pages.Render(w, r, ui.Page{Template: "confirm", Data: page, Wide: true, Form: form})
}

// detailJSON is what the customer's program will read. The address of a certificate is made with the verdict itself.
func (d *Desk) detailJSON(o *order.Order, l text.Locale) (string, error) {
	detail := o.View(l, d.Site.Now(), func(string) string { return d.Service.CertificateURL("…") })
	b, err := json.MarshalIndent(detail, "", "  ")
	return string(b), err
}

// complete gives the verdict that the page of confirmation has shown.
func (d *Desk) complete(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	id := r.PathValue("id")
	if form.Get("edit") != "" { // back to the order, with the note as it is now
		return d.editVerdict(w, r, who, form)
	}
	v := &order.Verdict{
		Outcome: order.Outcome(form.Get("outcome")), ReasonCodes: form.All("reason_codes"),
		ReasonText: readReasonText(form), IndexCodes: form.All("index_codes"),
	}
	if v.Outcome == order.Authentic {
		page, err := d.orderPage(r, who, id)
		if err != nil {
			return err
		}
		if page.CanJudge && len(page.against(v, page.Draft.Checks)) > 0 && !knowingly(form) {
			if err := d.renderConfirm(w, r, who, page, v, form); err != nil {
				return d.notCompleted(w, r, who, form, err)
			}
			return nil
		}
	}
	o, err := d.Service.CompleteOrder(r.Context(), actorOf(who), id, v, form.Get("note"))
	if err != nil {
		return d.notCompleted(w, r, who, form, err)
	}
	done := ui.Done("desk.done.completed", "number", o.Number, "outcome", o.Outcome.Label().In(ui.LocaleOf(r)))
	return d.redirectNext(w, r, who, form, done)
}

// editVerdict leads from the page of confirmation back to the order.
func (d *Desk) editVerdict(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	form.Values.Del("edit")
	if err := d.keepNote(r, who, form); err != nil {
		return d.notMovedNote(w, r, who, "complete", form, err)
	}
	return d.Site.Redirect(w, r, orderPath(r.PathValue("id")))
}

// notCompleted ends a confirmation that the order or the catalog no longer allows. The note that was written there goes
// back into the draft, or is shown once more where the draft may not be changed either.
func (d *Desk) notCompleted(
	w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form, refusal error,
) error {
	if !invalid(refusal) && !conflicts(refusal) {
		return refusal
	}
	if err := d.keepNote(r, who, form); err != nil && conflicts(refusal) {
		return d.notMovedNote(w, r, who, "complete", form, refusal)
	} else if err != nil {
		return d.notMovedNote(w, r, who, "complete", form, err)
	}
	if invalid(refusal) { // the catalog has changed since the page was shown
		return d.Site.Redirect(w, r, orderPath(r.PathValue("id")), ui.Failed("desk.conflict.catalog"))
	}
	return d.notMoved(w, r, refusal)
}

// keepNote stores the note of a page of confirmation in the visitor's draft.
func (d *Desk) keepNote(r *http.Request, who *visitor, form *ui.Form) error {
	id := r.PathValue("id")
	kept, err := d.Service.VerdictDraft(r.Context(), who.User.ID, id)
	if err != nil {
		return err
	}
	draft := kept.VerdictDraft
	if draft.Note == form.Get("note") {
		return nil
	}
	draft.Note, draft.Page = form.Get("note"), order.DraftPage{}
	_, err = d.Service.SaveVerdictDraft(r.Context(), actorOf(who), id, &draft, kept.Version)
	return err
}

// redirectNext leads from an order that is done to the queue, or to the next order when that was asked for.
func (d *Desk) redirectNext(
	w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form, done ui.Flash,
) error {
	d.feed.changed()
	if form.Get("then") != "next" {
		return d.Site.Redirect(w, r, d.queuePath(r), done)
	}
	return d.redirectToNext(w, r, who, d.lastQueueFilter(r), done)
}

// knowingly checks that somebody who judges against their own checklist says so, and says why in the note.
func knowingly(form *ui.Form) bool {
	if form.Get("despite") == "" {
		form.Fail("despite", "desk.confirm.despite_required")
	}
	if form.Get("note") == "" {
		form.Fail("note", "desk.confirm.note_required")
	}
	return form.OK()
}
