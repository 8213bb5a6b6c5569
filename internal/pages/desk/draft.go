package desk

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/ui"
)

// draftVersionHeader tells the page's script which version its draft is now.
const draftVersionHeader = "Draft-Version"

// readDraftVersion returns the version of the draft that a form was made from; a form that names none replaces any.
func readDraftVersion(form *ui.Form) int64 {
	n, err := strconv.ParseInt(form.Get("draft_version"), 10, 64)
	if err != nil || n < 0 {
		return order.LatestDraft
	}
	return n
}

// readDraft takes the draft from a form that the page's script has sent.
func readDraft(form *ui.Form) *order.VerdictDraft {
	v := readVerdict(form)
	v.Page.ID = form.Get("draft_page")
	v.Page.Save, _ = strconv.ParseInt(form.Get("draft_save"), 10, 64) // what is no number is no later save
	return v
}

// draftRefusal tells the page's script why a draft was not stored: "newer" when the version stored meanwhile is another
// one, "lost" when the order is no longer theirs to judge, "ended" when it is nobody's any more, "other" when somebody
// else is signed in now.
type draftRefusal struct {
	Kind    string `json:"kind"`
	Version any    `json:"version,omitempty"`
	Message string `json:"message,omitempty"`
}

// saveDraft stores what a reviewer has entered so far: the page's script calls it while they work.
func (d *Desk) saveDraft(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	id := r.PathValue("id")
	if as := form.Get("as"); as != "" && as != who.User.ID {
		return refuseDraft(w, draftRefusal{Kind: "other", Message: d.Site.T(r, "desk.draft.other", "name", who.User.Name)})
	}
	version, err := d.Service.SaveVerdictDraft(r.Context(), actorOf(who), id, readDraft(form), readDraftVersion(form))
	switch {
	case err == nil:
		w.Header().Set(draftVersionHeader, strconv.FormatInt(version, 10))
		w.WriteHeader(http.StatusNoContent)
		return nil
	case errors.Is(err, order.DraftChanged):
		f, _ := errors.AsType[*fault.Error](err)
		return refuseDraft(w, draftRefusal{Kind: "newer", Version: f.Details["version"]})
	case conflicts(err):
		v, err := d.orderPage(r, who, id)
		if err != nil {
			return err
		}
		refusal := draftRefusal{Kind: "lost", Message: d.conflictText(r, v)}
		if v.EndedAt != nil {
			refusal.Kind = "ended"
		}
		return refuseDraft(w, refusal)
	}
	return err
}

func refuseDraft(w http.ResponseWriter, refusal draftRefusal) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusConflict)
	return json.NewEncoder(w).Encode(refusal)
}

// lossOf says who took an order from somebody who had it; empty when nobody did.
func (d *Desk) lossOf(r *http.Request, h *order.History, who *visitor) string {
	e := h.LostBy(who.User.ID)
	if e == nil {
		return ""
	}
	key := "desk.lost." + e.Event
	if e.Actor.Kind == access.BySystem {
		key = "desk.lost.system-" + e.Event
	}
	if !d.Site.Messages.Has(key) {
		key = "desk.lost.completed"
	}
	to, _ := e.Details["assignee"].(map[string]any)
	name, _ := to["name"].(string)
	return d.Site.T(r, key, "by", e.Actor.Name, "to", name)
}

// takeDraft makes what a colleague had entered for an order the visitor's own draft. One of their own is replaced only
// where the form names its version: they have seen what they give up.
func (d *Desk) takeDraft(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	id := r.PathValue("id")
	o, err := d.Service.OrderForReview(r.Context(), actorOf(who), id)
	if err != nil {
		return err
	}
	theirs, err := d.Service.ColleaguesDraft(r.Context(), actorOf(who), o.ID)
	if err != nil {
		return err
	}
	if theirs == nil {
		return d.Site.Redirect(w, r, orderPath(id))
	}
	own, err := d.Service.VerdictDraft(r.Context(), who.User.ID, o.ID)
	if err != nil {
		return err
	}
	if !own.Empty() && readDraftVersion(form) != own.Version {
		return d.Site.Redirect(w, r, takePath(id))
	}
	taken := theirs.VerdictDraft
	taken.Page = order.DraftPage{}
	_, err = d.Service.SaveVerdictDraft(r.Context(), actorOf(who), id, &taken, own.Version)
	if errors.Is(err, order.DraftChanged) { // in another tab, this moment
		return d.Site.Redirect(w, r, takePath(id))
	}
	if err != nil {
		return d.notMoved(w, r, err)
	}
	return d.moved(w, r, orderPath(id), ui.Done("desk.draft.taken", "name", theirs.StaffName))
}

func takePath(id string) string { return orderPath(id) + "/draft/take" }

// takeView is the page that asks whether a colleague's draft is to replace the visitor's own.
type takeView struct {
	*orderPage
	Own *colleagueView
}

func (d *Desk) showTake(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !v.CanJudge || v.Draft.Empty() || v.Colleague == nil || v.Colleague.Mine { // there is nothing to ask
		return d.Site.Redirect(w, r, orderPath(v.ID))
	}
	return d.pages.Render(w, r, ui.Page{Template: "take", Data: takeView{v, d.colleagueView(r, v, v.Draft)}})
}

// colleagueView is what a colleague had entered for an order, or the visitor, in words.
type colleagueView struct {
	*order.KeptDraft
	Outcome string
	Reasons []string
	Indexes []string
	Marks   map[string]string // the words of a mark, by the code of its index
	Mine    bool              // the visitor has the same in their own draft
}

func (d *Desk) colleagueView(r *http.Request, v *orderPage, theirs *order.KeptDraft) *colleagueView {
	l := ui.LocaleOf(r)
	c := &colleagueView{KeptDraft: theirs, Marks: make(map[string]string), Mine: v.Draft.Equal(&theirs.VerdictDraft)}
	if theirs.Outcome != "" {
		c.Outcome = theirs.Outcome.Label().In(l)
	}
	for _, code := range theirs.ReasonCodes {
		if reason := d.Service.Catalog().Reason(code); reason != nil {
			c.Reasons = append(c.Reasons, reason.Text.In(l))
		}
	}
	if own := theirs.ReasonText.In(l); own != "" {
		c.Reasons = append(c.Reasons, own)
	}
	for _, code := range theirs.IndexCodes {
		c.Indexes = append(c.Indexes, v.indexName(code, l))
	}
	for code, mark := range theirs.Checks {
		c.Marks[code] = d.Site.T(r, "desk.check."+string(mark))
	}
	return c
}
