package admin

import (
	"context"
	"net/http"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/credit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/pages/ui"
)

const approvals = home + "/approvals"

type approvalsView struct {
	On    bool // further requests are made
	Open  []approvalRow
	Ended []approvalRow
}

// approvalRow is a request as it is shown.
type approvalRow struct {
	*access.Approval
	What   string
	Facts  []logFact
	Href   string // of what it is about
	Mine   bool
	Status access.ApprovalStatus
	Tone   ui.Tone
}

var approvalTones = map[access.ApprovalStatus]ui.Tone{
	access.ApprovalOpen: ui.Info, access.ApprovalApproved: ui.Good, access.ApprovalRefused: ui.Bad,
	access.ApprovalWithdrawn: ui.Neutral, access.ApprovalExpired: ui.Warn,
}

func (a *Admin) listApprovals(w http.ResponseWriter, r *http.Request, who *visitor) error {
	open, ended, err := a.Service.Approvals(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	v := approvalsView{On: a.Service.NeedsFourEyes()}
	for _, x := range open {
		row := a.approvalRow(r, who, x)
		if row.Status == access.ApprovalOpen {
			v.Open = append(v.Open, row)
		} else {
			v.Ended = append(v.Ended, row)
		}
	}
	for _, x := range ended {
		v.Ended = append(v.Ended, a.approvalRow(r, who, x))
	}
	return a.pages.Render(w, r, ui.Page{Template: "approvals", Data: v})
}

func (a *Admin) approvalRow(r *http.Request, who *visitor, x *access.Approval) approvalRow {
	row := approvalRow{
		Approval: x, What: a.Site.T(r, "admin.approval."+string(x.Kind)), Mine: x.RequestedBy == who.User.ID,
		Status: x.StatusAt(a.Site.Now()),
	}
	row.Tone = approvalTones[row.Status]
	add := func(name, value string) {
		if value != "" {
			row.Facts = append(row.Facts, logFact{a.Site.T(r, "admin.detail."+name), value})
		}
	}
	role := func(s access.StaffRole) string {
		if s == "" {
			return ""
		}
		return a.Site.T(r, "admin.role."+string(s))
	}
	d := x.Payload
	switch x.Kind {
	case access.ApproveCredits:
		row.Href = home + "/accounts/" + x.AccountID + "/credits/" + string(d.Environment)
		add("environment", a.valueText(r, "environment", string(d.Environment)))
		add("amount", strconv.FormatInt(d.Amount, 10))
		add("note", d.Note)
	case access.ApproveRole:
		row.Href = home + "/staff/" + x.TargetID
		add("from", role(d.From))
		add("to", role(d.Role))
	case access.ApproveInvitation:
		add("role", role(d.Role))
	case access.ApproveRevocation:
		row.Href = home + "/certificates/" + x.TargetID
		add("reason", d.Reason)
	}
	return row
}

// decide takes a decision about a request.
func (a *Admin) decide(
	decision func(ctx context.Context, actor access.Actor, id string) (*access.Approval, error), done string,
) handler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		x, err := decision(r.Context(), actorOf(who), r.PathValue("approval"))
		if fault.CodeOf(err) == credit.CodeNotEnough {
			return a.Site.Redirect(w, r, approvals, ui.Failed("admin.credits.out_of_bounds"))
		}
		if err != nil {
			return a.redirectWithFault(w, r, approvals, err)
		}
		return a.Site.Redirect(w, r, approvals, ui.Done(done, "target", x.TargetName))
	}
}

// redirectIfPending leads to the approvals where nothing was done because another administrator has to approve it.
func (a *Admin) redirectIfPending(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		err := h(w, r, who)
		if fault.CodeOf(err) == access.ApprovalRequested.Code {
			return a.Site.Redirect(w, r, approvals, ui.Note("admin.approvals.asked"))
		}
		return err
	}
}
