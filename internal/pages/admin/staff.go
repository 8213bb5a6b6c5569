package admin

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type staffView struct {
	Staff []staffRow
	Me    string
	Form  *ui.Form
	Roles []ui.Option
}

type staffRow struct {
	service.StaffMember
	InReview, Waiting int64
}

func rowOf(m service.StaffMember) staffRow {
	return staffRow{StaffMember: m, InReview: m.Holds[order.Processing], Waiting: m.Holds[order.UpdatePhotos]}
}

func (a *Admin) listStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return a.renderStaff(w, r, who, ui.NewForm("role", string(access.Reviewer)), http.StatusOK)
}

func (a *Admin) renderStaff(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form, status int) error {
	all, err := a.use.Staff(r.Context(), who.User)
	if err != nil {
		return err
	}
	v := staffView{Form: form, Me: who.User.ID}
	for _, m := range all {
		v.Staff = append(v.Staff, rowOf(m))
	}
	v.Roles = a.roles(r)
	return a.pages.Render(w, r, ui.Page{Template: "staff", Data: v, Status: status})
}

func (a *Admin) roles(r *http.Request) []ui.Option {
	var roles []ui.Option
	for _, role := range access.StaffRoles {
		roles = append(roles, ui.Option{
			Value: string(role), Label: a.Site.T(r, "admin.role."+string(role)), Hint: a.Site.T(r, "admin.role_hint."+string(role)),
		})
	}
	return roles
}

func (a *Admin) createStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	n, err := a.use.CreateStaff(r.Context(), who.User, form.Get("email"), form.Get("name"), access.StaffRole(form.Get("role")))
	if err != nil {
		if err := a.refuse(form, err); err != nil {
			return err
		}
		return a.renderStaff(w, r, who, form, http.StatusUnprocessableEntity)
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.staff.created", "name", n.Staff.Name), Text: a.Site.T(r, "admin.staff.created_text"),
		Values: []onceValue{
			{a.Site.T(r, "admin.email"), n.Staff.Email}, {a.Site.T(r, "admin.password"), n.Password}, {a.Site.T(r, "admin.staff.token"), n.Token},
		},
		Back: home + "/staff",
	})
}

type memberView struct {
	staffRow
	Mine bool
	Form *ui.Form
	Next []ui.Option // roles
}

func (a *Admin) showStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	m, err := a.use.StaffMember(r.Context(), who.User, r.PathValue("staff"))
	if err != nil {
		return err
	}
	v := memberView{staffRow: rowOf(*m), Mine: m.ID == who.User.ID, Form: ui.NewForm("role", string(m.Role)), Next: a.roles(r)}
	return a.pages.Render(w, r, ui.Page{Template: "member", Data: v})
}

func staffPath(r *http.Request) string { return home + "/staff/" + r.PathValue("staff") }

func (a *Admin) deactivateStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	s, err := a.use.DeactivateStaff(r.Context(), who.User, r.PathValue("staff"))
	if err != nil {
		return a.sorry(w, r, staffPath(r), err)
	}
	return a.Site.Redirect(w, r, home+"/staff", ui.Done("admin.staff.deactivated_done", "name", s.Name))
}

func (a *Admin) reactivateStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	s, password, err := a.use.ReactivateStaff(r.Context(), who.User, r.PathValue("staff"))
	if err != nil {
		return a.sorry(w, r, staffPath(r), err)
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.staff.reactivated", "name", s.Name), Text: a.Site.T(r, "admin.staff.reactivated_text"),
		Values: []onceValue{{a.Site.T(r, "admin.email"), s.Email}, {a.Site.T(r, "admin.password"), password}}, Back: staffPath(r),
	})
}

func (a *Admin) changeRole(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	s, err := a.use.ChangeStaffRole(r.Context(), who.User, r.PathValue("staff"), access.StaffRole(form.Get("role")))
	if err != nil {
		return a.sorry(w, r, staffPath(r), err)
	}
	return a.Site.Redirect(w, r, staffPath(r), ui.Done("admin.staff.role_changed", "name", s.Name, "role", a.Site.T(r, "admin.role."+string(s.Role))))
}

func (a *Admin) revokeToken(w http.ResponseWriter, r *http.Request, who *visitor) error {
	s, err := a.use.RevokeStaffToken(r.Context(), who.User, r.PathValue("staff"))
	if err != nil {
		return a.sorry(w, r, staffPath(r), err)
	}
	return a.Site.Redirect(w, r, staffPath(r), ui.Done("admin.staff.token_revoked", "name", s.Name))
}

func (a *Admin) rotateToken(w http.ResponseWriter, r *http.Request, who *visitor) error {
	s, token, err := a.use.RotateStaffToken(r.Context(), who.User, r.PathValue("staff"))
	if err != nil {
		return a.sorry(w, r, staffPath(r), err)
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.staff.token_made", "name", s.Name), Text: a.Site.T(r, "admin.staff.token_made_text"),
		Values: []onceValue{{a.Site.T(r, "admin.staff.token"), token}}, Back: staffPath(r),
	})
}

func (a *Admin) resetPassword(w http.ResponseWriter, r *http.Request, who *visitor) error {
	s, password, err := a.use.ResetStaffPassword(r.Context(), who.User, r.PathValue("staff"))
	if err != nil {
		return a.sorry(w, r, staffPath(r), err)
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.staff.password_made", "name", s.Name), Text: a.Site.T(r, "admin.staff.password_made_text"),
		Values: []onceValue{{a.Site.T(r, "admin.email"), s.Email}, {a.Site.T(r, "admin.password"), password}}, Back: staffPath(r),
	})
}

func (a *Admin) resetSecondFactor(w http.ResponseWriter, r *http.Request, who *visitor) error {
	s, err := a.use.ResetStaffSecondFactor(r.Context(), who.User, r.PathValue("staff"))
	if err != nil {
		return a.sorry(w, r, staffPath(r), err)
	}
	return a.Site.Redirect(w, r, staffPath(r), ui.Done("admin.staff.factor_removed", "name", s.Name))
}
