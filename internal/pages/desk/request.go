package desk

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/catalog"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
)

// requestView is the form to ask a customer for photos.
type requestView struct {
	*orderPage
	Form         *ui.Form
	Entered      bool // by the reviewer, before
	Indexes      []*requestIndex
	Conditions   []catalog.Phrase
	Requirements []catalog.Phrase
	Error        string // of the form as a whole
}

// requestIndex is an index that may be asked for. The names of its fields end in its code.
type requestIndex struct {
	indexGroup
	Errors map[string]string
}

// wrongField is what is wrong with a field, as the templates "invalid" and "field-error" take it.
type wrongField struct{ ID, Text, Hint string }

// Wrong returns what is wrong with a field of the index, whose id begins with a letter.
func (x *requestIndex) Wrong(letter, field string) wrongField {
	return wrongField{ID: letter + "-" + x.Code + "-error", Text: x.Errors[field]}
}

// WrongField is the id of the first field with which something is wrong: of the first box where nothing was chosen.
func (v *requestView) WrongField() string {
	for _, x := range v.Indexes {
		for _, f := range []struct{ field, id string }{
			{"condition", "n-" + x.Code},
			{"max_photos", "m-" + x.Code},
			{"requirements", "q-" + x.Code + "-0"},
			{"comment", "t-" + x.Code},
			{"reference_photo_url", "u-" + x.Code},
		} {
			if x.Errors[f.field] != "" {
				return f.id
			}
		}
		if len(x.Errors) > 0 {
			return "w-" + x.Code
		}
	}
	if len(v.Indexes) > 0 {
		return "w-" + v.Indexes[0].Code
	}
	return ""
}

func (d *Desk) showRequest(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form := ui.NewForm()
	draft, err := d.Service.VerdictDraft(r.Context(), who.User.ID, r.PathValue("id"))
	if err == nil {
		for code, mark := range draft.Checks { // what could not be seen is what one asks for
			if mark == order.MarkNotVisible {
				form.Values.Add("want", code)
			}
		}
	}
	return d.renderRequest(w, r, who, form, nil)
}

// renderRequest shows the form with what was entered so far and what was wrong with it. Whoever has entered something
// keeps it when the order has moved; who has sent it already, or only wants to begin, sees the order.
func (d *Desk) renderRequest(
	w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form, refusal error,
) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if invalid(refusal) {
		status = http.StatusUnprocessableEntity
	}
	if !v.CanRequest || conflicts(refusal) {
		sent := v.Status == order.UpdatePhotos && v.AssigneeID == who.User.ID
		if r.Method != http.MethodPost || sent {
			return d.Site.Redirect(w, r, orderPath(v.ID), ui.Failed("desk.conflict.moved"))
		}
		d.feed.changed()
		v.Moved, status = d.conflictText(r, v), http.StatusConflict
	}
	snap := d.Service.Catalog()
	page := &requestView{
		orderPage: v, Form: form, Entered: r.Method == http.MethodPost, Conditions: snap.Conditions(),
		Requirements: snap.Requirements(),
	}
	for _, g := range v.Groups {
		index := &requestIndex{indexGroup: *g}
		index.Limit = max(1, g.Limit)
		page.Indexes = append(page.Indexes, index)
	}
	for _, x := range v.Without {
		page.Indexes = append(page.Indexes, &requestIndex{
			indexGroup: indexGroup{Code: x.Code, Name: x.Name, Required: x.Required, Limit: x.PhotoLimit},
		})
	}
	page.explain(d, r, refusal)
	return d.pages.Render(w, r, ui.Page{Template: "request", Data: page, Status: status, Wide: true})
}

// explain puts the problems of a request to the fields of the form. The use case counts photos, the form has codes.
func (v *requestView) explain(d *Desk, r *http.Request, refusal error) {
	wanted := v.Form.All("want")
	for _, p := range fault.ProblemsOf(refusal) {
		message := d.problemText(r, p.Code, p)
		var n int
		var field string
		if _, err := fmt.Sscanf(p.Field, "photos[%d].%s", &n, &field); err != nil || n >= len(wanted) {
			v.Error = message
			if p.Field == "photos" {
				v.Error = d.Site.T(r, "desk.request.none")
			}
			continue
		}
		field, _, _ = strings.Cut(field, "[")
		for _, x := range v.Indexes {
			if x.Code == wanted[n] {
				if x.Errors == nil {
					x.Errors = make(map[string]string)
				}
				x.Errors[field] = message
			}
		}
		v.Error = d.Site.T(r, "desk.request.check")
	}
}

// readRequest takes what is asked for from a form.
func readRequest(form *ui.Form) []order.RequestDraft {
	var drafts []order.RequestDraft
	for _, code := range form.All("want") {
		draft := order.RequestDraft{
			IndexCode: code, Condition: form.Get("condition." + code), Requirements: form.All("requirements." + code),
			Comment: form.Get("comment." + code), ReferencePhotoURL: form.Get("reference." + code),
		}
		if s := form.Get("max." + code); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				n = -1 // refused by the rule
			}
			draft.MaxPhotos = n
		}
		drafts = append(drafts, draft)
	}
	return drafts
}

// requestPreview shows exactly what the customer will be asked.
type requestPreview struct {
	*orderPage
	Form     *ui.Form
	Requests []order.PhotoRequest
	Answers  []requestAnswer
}

type requestAnswer struct {
	Locale text.Locale
	Name   string
	Photos []order.PhotoToResubmit
	JSON   string
}

func (d *Desk) previewRequest(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	if form.Get("edit") != "" { // back from the preview, with everything that was entered
		return d.renderRequest(w, r, who, form, nil)
	}
	after, err := d.Service.PreviewRequest(r.Context(), actorOf(who), r.PathValue("id"), readRequest(form))
	if invalid(err) || conflicts(err) {
		return d.renderRequest(w, r, who, form, err)
	}
	if err != nil {
		return err
	}
	v, err := d.orderPage(r, who, after.ID)
	if err != nil {
		return err
	}
	page := requestPreview{orderPage: v, Form: form, Requests: after.Requested}
	for _, l := range text.Locales {
		a := requestAnswer{Locale: l, Name: ui.LanguageNames[l], Photos: d.Service.ViewOrder(after, l).PhotosToResubmit}
		if a.JSON, err = d.detailJSON(after, l); err != nil {
			return err
		}
		page.Answers = append(page.Answers, a)
	}
	return d.pages.Render(w, r, ui.Page{Template: "request_preview", Data: page, Wide: true})
}

// sendRequest asks the customer.
func (d *Desk) sendRequest(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	o, err := d.Service.RequestPhotos(r.Context(), actorOf(who), r.PathValue("id"), readRequest(form))
	if invalid(err) || conflicts(err) {
		return d.renderRequest(w, r, who, form, err)
	}
	if err != nil {
		return err
	}
	return d.redirectNext(w, r, who, form, ui.Done("desk.done.requested", "number", o.Number))
}
