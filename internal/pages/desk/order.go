package desk

import (
	"errors"
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

func (d *Desk) showOrder(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		if v, err = d.unreadablePage(r, who, err); err != nil {
			return err
		}
		return d.renderNote(w, r, v, "cancel", ui.NewForm())
	}
	d.seen(w, r, who, v)
	return d.pages.Render(w, r, ui.Page{Template: "order", Data: v, Wide: true})
}

// moved ends a form that has moved an order.
func (d *Desk) moved(w http.ResponseWriter, r *http.Request, next string, done ui.Flash) error {
	d.feed.changed()
	return d.Site.Redirect(w, r, next, done)
}

// conflicts reports whether a use case has refused a move because the order is no longer what it was.
func conflicts(err error) bool { return fault.KindOf(err) == fault.Conflict }

// conflictText says why a form was not carried out, on the page that shows once more what was entered.
func (d *Desk) conflictText(r *http.Request, v *orderPage) string {
	switch {
	case v.Lost != "":
		return v.Lost
	case v.endedBy(v.Me):
		return d.Site.T(r, "desk.conflict.finished")
	case v.EndedAt != nil:
		return d.Site.T(r, "desk.conflict.ended")
	case v.Assignee != nil && v.Status == order.Processing && !v.Mine:
		return d.Site.T(r, "desk.order.held_by", "name", v.Assignee.Name)
	}
	return d.Site.T(r, "desk.conflict.changed")
}

// notMoved ends a form that was to move an order. A move that the order no longer allows is no error page: whoever
// wanted it comes back to the order as it is now, and reads why.
func (d *Desk) notMoved(w http.ResponseWriter, r *http.Request, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Conflict {
		return err
	}
	return d.moved(w, r, orderPath(r.PathValue("id")), conflict(f))
}

// conflict says why a move was refused, and who holds the order.
func conflict(f *fault.Error) ui.Flash {
	if errors.Is(f, service.ClaimLimitReached) {
		return ui.Failed("desk.conflict.limit", "n", f.Details["limit"])
	}
	if holder, ok := f.Details["assignee"].(map[string]string); ok {
		return ui.Failed("desk.conflict.claimed", "name", holder["name"])
	}
	if errors.Is(f, order.Claimed) {
		return ui.Failed("desk.conflict.claimed_by_other")
	}
	return ui.Failed("desk.conflict.moved")
}

func (d *Desk) claim(w http.ResponseWriter, r *http.Request, who *visitor) error {
	id := r.PathValue("id")
	if _, err := d.Service.ClaimOrder(r.Context(), actorOf(who), id); err != nil {
		return d.notMoved(w, r, err)
	}
	return d.moved(w, r, orderPath(id), ui.Done("desk.done.claimed"))
}

func (d *Desk) release(w http.ResponseWriter, r *http.Request, who *visitor) error {
	o, err := d.Service.ReleaseOrder(r.Context(), actorOf(who), r.PathValue("id"))
	if err != nil {
		return d.notMoved(w, r, err)
	}
	return d.moved(w, r, d.queuePath(r), ui.Done("desk.done.released", "number", o.Number))
}

// noteView is a page that asks for a note before something that cannot be undone.
type noteView struct {
	*orderPage
	Form   *ui.Form
	Action string // fail, cancel or complete
}

func (d *Desk) showNote(
	w http.ResponseWriter, r *http.Request, who *visitor, action string, form *ui.Form, allowed func(*orderPage) bool,
) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		if v, err = d.unreadablePage(r, who, err); err != nil {
			return err
		}
	}
	if !allowed(v) {
		return d.Site.Redirect(w, r, orderPath(v.ID), ui.Failed("desk.conflict.moved"))
	}
	return d.renderNote(w, r, v, action, form)
}

// notMovedNote is notMoved for a form with a note: whoever wrote one reads why on the same page, and still has it. Who
// has done it themselves, with another request, sees the order.
func (d *Desk) notMovedNote(
	w http.ResponseWriter, r *http.Request, who *visitor, action string, form *ui.Form, refusal error,
) error {
	if !conflicts(refusal) || form.Get("note") == "" {
		return d.notMoved(w, r, refusal)
	}
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		if v, err = d.unreadablePage(r, who, err); err != nil {
			return err
		}
	}
	if v.endedBy(who.User.ID) {
		return d.notMoved(w, r, refusal)
	}
	d.feed.changed()
	v.Moved = d.conflictText(r, v)
	return d.renderNote(w, r, v, action, form)
}

// endedBy reports whether the order has ended, and a staff user did it.
func (v *orderPage) endedBy(staffID string) bool {
	if len(v.Timeline) == 0 || v.Status != order.Failed && v.Status != order.Completed {
		return false
	}
	by := v.Timeline[len(v.Timeline)-1].Actor
	return by.Kind == access.ByStaff && by.ID == staffID
}

func (d *Desk) renderNote(w http.ResponseWriter, r *http.Request, v *orderPage, action string, form *ui.Form) error {
	page := noteView{orderPage: v, Form: form, Action: action}
	status := 0
	if v.Moved != "" {
		status = http.StatusConflict
	}
	return d.pages.Render(w, r, ui.Page{Template: "note", Data: page, Form: form, Status: status})
}

func canFail(v *orderPage) bool   { return v.CanFail }
func canCancel(v *orderPage) bool { return v.CanCancel }

func (d *Desk) showFail(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return d.showNote(w, r, who, "fail", ui.NewForm(), canFail)
}

func (d *Desk) showCancel(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return d.showNote(w, r, who, "cancel", ui.NewForm(), canCancel)
}

func (d *Desk) fail(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	if form.Get("note") == "" { // nobody else will know why the customer got no answer
		form.Fail("note", "ui.problem.required")
		return d.showNote(w, r, who, "fail", form, canFail)
	}
	o, err := d.Service.FailOrder(r.Context(), actorOf(who), r.PathValue("id"), form.Get("note"))
	if invalid(err) && form.Refuse(err) == nil {
		return d.showNote(w, r, who, "fail", form, canFail)
	}
	if err != nil {
		return d.notMovedNote(w, r, who, "fail", form, err)
	}
	return d.moved(w, r, d.queuePath(r), ui.Done("desk.done.failed", "number", o.Number))
}

func (d *Desk) cancel(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	o, err := d.Service.CancelOrder(r.Context(), actorOf(who), r.PathValue("id"), form.Get("note"))
	if invalid(err) && form.Refuse(err) == nil {
		return d.showNote(w, r, who, "cancel", form, canCancel)
	}
	if err != nil {
		return d.notMovedNote(w, r, who, "cancel", form, err)
	}
	return d.moved(w, r, d.queuePath(r), ui.Done("desk.done.canceled", "number", o.Number))
}

// invalid reports whether a use case has refused what somebody entered.
func invalid(err error) bool { return fault.KindOf(err) == fault.Invalid }

// reassignView is the page to give an order to another staff user.
type reassignView struct {
	*orderPage
	Form  *ui.Form
	Staff []ui.Option
}

func (d *Desk) showReassign(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return d.renderReassign(w, r, who, ui.NewForm())
}

func (d *Desk) renderReassign(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	v, err := d.orderPage(r, who, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !v.CanReassign {
		return d.Site.Redirect(w, r, orderPath(v.ID), ui.Failed("desk.conflict.moved"))
	}
	all, err := d.Service.StaffUsers(r.Context())
	if err != nil {
		return err
	}
	page := reassignView{orderPage: v, Form: form}
	for _, s := range all {
		if s.Active() && s.ID != v.AssigneeID {
			label := s.Name + " · " + d.Site.T(r, "desk.role."+string(s.Role))
			page.Staff = append(page.Staff, ui.Option{Value: s.ID, Label: label})
		}
	}
	return d.pages.Render(w, r, ui.Page{Template: "reassign", Data: page, Form: form})
}

func (d *Desk) reassign(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	id := r.PathValue("id")
	o, err := d.Service.ReassignOrder(r.Context(), actorOf(who), id, form.Get("assignee_id"))
	if invalid(err) && form.Refuse(err) == nil {
		return d.renderReassign(w, r, who, form)
	}
	if err != nil {
		return d.notMoved(w, r, err)
	}
	name := ""
	if o.Assignee != nil {
		name = o.Assignee.Name
	}
	return d.moved(w, r, orderPath(id), ui.Done("desk.done.reassigned", "name", name))
}
