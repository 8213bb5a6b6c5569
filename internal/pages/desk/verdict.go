package desk

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

// verdictForm is the form of a verdict with what a reviewer has entered so far. The marks of the checklist and the
// affected indexes stand beside the photos, outside of the form element, and belong to it all the same.
type verdictForm struct {
	*order.VerdictDraft
	Outcomes []outcomeChoice
	Errors   map[string]string // by field
}

type outcomeChoice struct {
	Outcome order.Outcome
	Label   text.Text
	Reasons []*catalog.Reason
}

func (d *Desk) newVerdictForm(draft *order.VerdictDraft) *verdictForm {
	f := &verdictForm{VerdictDraft: draft}
	for _, o := range order.Verdicts {
		reasons := d.Service.Catalog().Reasons(string(o))
		f.Outcomes = append(f.Outcomes, outcomeChoice{Outcome: o, Label: o.Label(), Reasons: reasons})
	}
	return f
}

// HasReason reports whether a reason is chosen.
func (f *verdictForm) HasReason(code string) bool { return slices.Contains(f.ReasonCodes, code) }

// HasIndex reports whether an index is said to give the fake away.
func (f *verdictForm) HasIndex(code string) bool { return slices.Contains(f.IndexCodes, code) }

// CheckOf returns the mark of an index.
func (f *verdictForm) CheckOf(code string) order.Mark { return f.Checks[code] }

const (
	reasonField = "reason." // and an outcome: what was ticked for another outcome does not count
	checkField  = "check."  // and the code of an index
)

// readVerdict takes the draft of a verdict from a form. A failed check of the list makes its index an affected one.
func readVerdict(form *ui.Form) *order.VerdictDraft {
	v := &order.VerdictDraft{
		Outcome: order.Outcome(form.Get("outcome")), ReasonText: readReasonText(form), Note: form.Get("note"),
		Checks: make(map[string]order.Mark),
	}
	v.ReasonCodes = distinct(form.All(reasonField + string(v.Outcome)))
	affected := form.All("index_codes")
	for name := range form.Values {
		code, ok := strings.CutPrefix(name, checkField)
		mark := order.Mark(form.Get(name))
		if !ok || !slices.Contains(order.Marks, mark) {
			continue
		}
		v.Checks[code] = mark
		if mark == order.MarkFail {
			affected = append(affected, code)
		}
	}
	slices.Sort(affected)
	v.IndexCodes = distinct(affected)
	return v
}

// readReasonText takes the reason in the reviewer's own words from a form.
func readReasonText(form *ui.Form) text.Text {
	return text.Text{EN: form.Get("reason_text.en"), JA: form.Get("reason_text.ja")}
}

func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// saveDraft stores what a reviewer has entered so far: the page's script calls it while they work.
func (d *Desk) saveDraft(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	if err := d.Service.SaveVerdictDraft(r.Context(), actorOf(who), r.PathValue("id"), readVerdict(form)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// prepareVerdict checks a verdict and leads to the page that shows what the customer will get.
func (d *Desk) prepareVerdict(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	id, draft := r.PathValue("id"), readVerdict(form)
	_, err = d.Service.PreviewVerdict(r.Context(), actorOf(who), id, draft.Verdict(), draft.Note)
	if err == nil {
		err = d.Service.SaveVerdictDraft(r.Context(), actorOf(who), id, draft)
	}
	switch {
	case err == nil:
		return d.Site.Redirect(w, r, orderPath(id)+"/verdict")
	case invalid(err):
		return d.refuseVerdict(w, r, who, draft, err)
	}
	return d.finishMove(w, r, err, "", ui.Flash{})
}

// refuseVerdict shows the order again with what was entered and what is wrong with it.
func (d *Desk) refuseVerdict(
	w http.ResponseWriter, r *http.Request, who *visitor, draft *order.VerdictDraft, err error,
) error {
	v, lookErr := d.orderPage(r, who, r.PathValue("id"))
	if lookErr != nil {
		return lookErr
	}
	v.Verdict = d.newVerdictForm(draft)
	v.Verdict.Errors = d.problems(r, err)
	return d.pages.Render(w, r, ui.Page{Template: "order", Data: v, Wide: true, Status: http.StatusUnprocessableEntity})
}

// problems returns what is wrong by field, in the language of the page. An element of a list is its list.
func (d *Desk) problems(r *http.Request, err error) map[string]string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return nil
	}
	list, _ := f.Details["errors"].([]fault.Problem)
	out := make(map[string]string, len(list))
	for _, p := range list {
		field, _, _ := strings.Cut(p.Field, "[")
		if key := "desk.problem." + strings.ReplaceAll(field, ".", "_") + "." + p.Code; d.Site.Messages.Has(key) {
			out[field] = d.Site.T(r, key)
		} else if key := "ui.problem." + p.Code; d.Site.Messages.Has(key) {
			out[field] = d.Site.T(r, key)
		} else {
			out[field] = p.Message
		}
	}
	return out
}

// confirmView shows exactly what the customer will get.
type confirmView struct {
	*orderPage
	After   *order.Order // the order as it will be
	Note    string
	Answers []answerView   // one for each language
	Sent    *order.Verdict // what a yes gives
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

var languageNames = map[text.Locale]string{text.English: "English", text.Japanese: "日本語"}

func (d *Desk) confirmVerdict(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	draft := v.Draft
	verdict := draft.Verdict()
	after, err := d.Service.PreviewVerdict(r.Context(), actorOf(who), v.ID, verdict, draft.Note)
	if invalid(err) { // there is no draft, or the catalog has changed since
		return d.Site.Redirect(w, r, orderPath(v.ID))
	}
	if err != nil {
		return d.finishMove(w, r, err, "", ui.Flash{})
	}
	page := confirmView{orderPage: v, After: after, Note: draft.Note, Sent: verdict}
	for _, l := range text.Locales {
		a := answerView{Locale: l, Name: languageNames[l], Outcome: after.Outcome.Label().In(l)}
		for _, reason := range after.ReasonsTold() {
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
	return d.pages.Render(w, r, ui.Page{Template: "confirm", Data: page, Wide: true})
}

// detailJSON is what the customer's program will read. The address of a certificate is made with the verdict itself.
func (d *Desk) detailJSON(o *order.Order, l text.Locale) (string, error) {
	detail := o.View(l, d.Site.Now(), func(string) string { return d.Service.CertificateURL("…") })
	b, err := json.MarshalIndent(detail, "", "  ")
	return string(b), err
}

// complete gives the verdict that the page of confirmation has shown.
func (d *Desk) complete(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	v := &order.Verdict{
		Outcome: order.Outcome(form.Get("outcome")), ReasonCodes: form.All("reason_codes"),
		ReasonText: readReasonText(form), IndexCodes: form.All("index_codes"),
	}
	o, err := d.Service.CompleteOrder(r.Context(), actorOf(who), id, v, form.Get("note"))
	if invalid(err) { // the catalog has changed since the page was shown
		return d.Site.Redirect(w, r, orderPath(id), ui.Failed("desk.conflict.catalog"))
	}
	if err != nil {
		return d.finishMove(w, r, err, "", ui.Flash{})
	}
	done := ui.Done("desk.done.completed", "number", o.Number, "outcome", o.Outcome.Label().In(ui.LocaleOf(r)))
	return d.redirectNext(w, r, who, form, done)
}

// redirectNext leads from an order that is done to the queue, or to the next order when that was asked for.
func (d *Desk) redirectNext(
	w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form, done ui.Flash,
) error {
	d.feed.changed()
	if form.Get("then") != "next" {
		return d.Site.Redirect(w, r, home, done)
	}
	next, err := d.Service.TakeNextOrder(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	if next == nil {
		return d.Site.Redirect(w, r, home, done, ui.Note("desk.queue.nothing"))
	}
	return d.Site.Redirect(w, r, orderPath(next.ID), done)
}
