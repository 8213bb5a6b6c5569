package desk

import (
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
	*order.KeptDraft
	Outcomes []outcomeChoice
	Errors   map[string]string // by field
	Older    bool              // what was entered was made from a draft that has been changed elsewhere since
}

type outcomeChoice struct {
	Outcome order.Outcome
	Label   text.Text
	Reasons []*catalog.Reason
}

// newVerdictForm returns the form for an item. A reason of other categories is there only when it is chosen already.
func (d *Desk) newVerdictForm(category string, draft *order.KeptDraft) *verdictForm {
	f := &verdictForm{KeptDraft: draft}
	for _, o := range order.Verdicts {
		reasons := slices.DeleteFunc(d.Service.Catalog().Reasons(string(o)), func(reason *catalog.Reason) bool {
			return !reason.For(category) && !f.HasReason(reason.Code)
		})
		f.Outcomes = append(f.Outcomes, outcomeChoice{Outcome: o, Label: o.Label(), Reasons: reasons})
	}
	return f
}

// HasReason reports whether a reason is chosen, be it for an outcome that was chosen before.
func (f *verdictForm) HasReason(code string) bool {
	return slices.Contains(f.ReasonCodes, code) || slices.Contains(f.OtherCodes, code)
}

// HasIndex reports whether an index is said to give the fake away.
func (f *verdictForm) HasIndex(code string) bool { return slices.Contains(f.IndexCodes, code) }

// CheckOf returns the mark of an index.
func (f *verdictForm) CheckOf(code string) order.Mark { return f.Checks[code] }

// WrongField is the id of the first field of the verdict with which something is wrong.
func (v *orderPage) WrongField() string {
	wrong := func(field string) bool { return v.Verdict.Errors[field] != "" }
	switch {
	case wrong("outcome"):
		return "o-" + string(v.Verdict.Outcomes[0].Outcome)
	case wrong("reason_codes"):
		for _, o := range v.Verdict.Outcomes {
			if o.Outcome == v.Verdict.Outcome && len(o.Reasons) > 0 {
				return "r-" + o.Reasons[0].Code
			}
		}
	case wrong("reason_text.en"):
		return "own-en"
	case wrong("reason_text.ja"):
		return "own-ja"
	case wrong("index_codes") && len(v.Groups) > 0:
		return "a-" + v.Groups[0].Code
	case wrong("note"):
		return "f-note"
	}
	return ""
}

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
	for _, o := range order.Verdicts {
		if codes := form.All(reasonField + string(o)); o == v.Outcome {
			v.ReasonCodes = distinct(codes)
		} else {
			v.OtherCodes = append(v.OtherCodes, codes...)
		}
	}
	v.OtherCodes = distinct(v.OtherCodes)
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

// prepareVerdict checks a verdict and leads to the page that shows what the customer will get.
func (d *Desk) prepareVerdict(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	id, draft := r.PathValue("id"), readVerdict(form)
	_, err := d.Service.PreviewVerdict(r.Context(), actorOf(who), id, draft.Verdict(), draft.Note)
	if err == nil {
		_, err = d.Service.SaveVerdictDraft(r.Context(), actorOf(who), id, draft, readDraftVersion(form))
	}
	switch {
	case err == nil:
		return d.Site.Redirect(w, r, orderPath(id)+"/verdict")
	case invalid(err):
		return d.refuseVerdict(w, r, who, draft, verdictForm{Errors: d.problems(r, err)}, http.StatusUnprocessableEntity)
	case errors.Is(err, order.DraftChanged): // sending it again replaces that draft
		return d.refuseVerdict(w, r, who, draft, verdictForm{Older: true}, http.StatusConflict)
	}
	return d.notMoved(w, r, err)
}

// refuseVerdict shows the order again with what was entered and what is wrong with it.
func (d *Desk) refuseVerdict(
	w http.ResponseWriter, r *http.Request, who *visitor, draft *order.VerdictDraft, wrong verdictForm, status int,
) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	v.Verdict = d.newVerdictForm(v.Classification.CategoryCode, &order.KeptDraft{
		VerdictDraft: *draft, Version: v.Draft.Version,
	})
	v.Verdict.Errors, v.Verdict.Older = wrong.Errors, wrong.Older
	return d.pages.Render(w, r, ui.Page{Template: "order", Data: v, Wide: true, Status: status})
}

// problems returns what is wrong by field, in the language of the page. An element of a list is its list.
func (d *Desk) problems(r *http.Request, err error) map[string]string {
	out := make(map[string]string)
	for _, p := range fault.ProblemsOf(err) {
		field, _, _ := strings.Cut(p.Field, "[")
		out[field] = d.problemText(r, strings.ReplaceAll(field, ".", "_")+"."+p.Code, p)
	}
	return out
}

// problemText says a problem in the language of the page where there is a text for it: desk.problem.KEY or, by its
// code, that of the desk or of all pages.
func (d *Desk) problemText(r *http.Request, key string, p fault.Problem) string {
	for _, key := range []string{"desk.problem." + key, "desk.problem." + p.Code, "ui.problem." + p.Code} {
		if d.Site.Messages.Has(key) {
			return d.Site.T(r, key)
		}
	}
	return p.Message
}
