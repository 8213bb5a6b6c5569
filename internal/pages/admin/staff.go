package admin

import (
	"cmp"
	"context"
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
)

type staffView struct {
	Staff       []*access.StaffMember
	Invitations []*access.Link
	Me          string
	Mail        bool // links are sent by mail
	Form        *ui.Form
	Roles       []ui.Option
}

func (a *Admin) listStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return a.renderStaff(w, r, who, ui.NewForm("role", string(access.Reviewer)))
}

func (a *Admin) renderStaff(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	all, err := a.Service.StaffMembers(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	open, err := a.Service.StaffInvitations(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	v := staffView{
		Staff: all, Invitations: open, Me: who.User.ID, Mail: a.Service.SendsMail(), Form: form, Roles: a.roles(r),
	}
	return a.pages.Render(w, r, ui.Page{Template: "staff", Data: v, Form: form})
}

func (a *Admin) roles(r *http.Request) []ui.Option {
	roles := ui.Words(a.Site, r, "admin.role.", access.StaffRoles)
	for i := range roles {
		roles[i].Hint = a.Site.T(r, "admin.role_hint."+roles[i].Value)
	}
	return roles
}

// newStaff hands the form of a new staff user to use; what that refuses is shown in the form.
func (a *Admin) newStaff(
	w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form,
	use func(email, name string, role access.StaffRole) error,
) error {
	if err := use(form.Get("email"), form.Get("name"), access.StaffRole(form.Get("role"))); err != nil {
		if err := a.pages.Refuse(form, err); err != nil {
			return err
		}
		return a.renderStaff(w, r, who, form)
	}
	return nil
}

func (a *Admin) createStaff(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	return a.newStaff(w, r, who, form, func(email, name string, role access.StaffRole) error {
		n, err := a.Service.CreateStaff(r.Context(), actorOf(who), email, name, role)
		if err != nil {
			return err
		}
		return a.showOnce(w, r, onceView{
			Title: a.Site.T(r, "admin.staff.created", "name", n.Staff.Name), Text: a.Site.T(r, "admin.staff.created_text"),
			Values: []onceValue{
				{a.Site.T(r, "admin.email"), n.Staff.Email},
				{a.Site.T(r, "admin.password"), n.Password},
				{a.Site.T(r, "admin.staff.token"), n.Token},
			},
			Back: home + "/staff",
		})
	})
}

func (a *Admin) inviteStaff(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	return a.newStaff(w, r, who, form, func(email, name string, role access.StaffRole) error {
		address, err := a.Service.InviteStaff(r.Context(), actorOf(who), email, name, role)
		if err != nil {
			return err
		}
		return a.invited(w, r, email, address)
	})
}

// invited tells that an invitation is sent by mail, or shows its link where there is no mail server.
func (a *Admin) invited(w http.ResponseWriter, r *http.Request, email, address string) error {
	if address == "" {
		return a.Site.Redirect(w, r, home+"/staff", ui.Done("admin.staff.mailed", "email", email))
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.staff.invited"), Text: a.Site.T(r, "admin.staff.invited_text", "email", email),
		Values: []onceValue{{a.Site.T(r, "admin.account.link"), address}}, Back: home + "/staff",
	})
}

func (a *Admin) inviteStaffAgain(w http.ResponseWriter, r *http.Request, who *visitor) error {
	email, address, err := a.Service.InviteStaffAgain(r.Context(), actorOf(who), r.PathValue("invitation"))
	if err != nil {
		return err
	}
	return a.invited(w, r, email, address)
}

func (a *Admin) uninviteStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	if err := a.Service.UninviteStaff(r.Context(), actorOf(who), r.PathValue("invitation")); err != nil {
		return err
	}
	return a.Site.Redirect(w, r, home+"/staff", ui.Done("admin.staff.uninvited"))
}

type memberView struct {
	*access.StaffMember
	Mine bool
	Form *ui.Form
	Next []ui.Option // roles
}

func (a *Admin) showStaff(w http.ResponseWriter, r *http.Request, who *visitor) error {
	m, err := a.Service.StaffMember(r.Context(), actorOf(who), r.PathValue("staff"))
	if err != nil {
		return err
	}
	v := memberView{StaffMember: m, Mine: m.ID == who.User.ID, Form: ui.NewForm("role", string(m.Role)), Next: a.roles(r)}
	return a.pages.Render(w, r, ui.Page{Template: "member", Data: v})
}

func staffPath(r *http.Request) string { return home + "/staff/" + r.PathValue("staff") }

// changeStaff changes a staff user and tells so on a page; empty: theirs.
func (a *Admin) changeStaff(
	change func(ctx context.Context, actor access.Actor, id string) (*access.Staff, error), back, done string,
) handler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		s, err := change(r.Context(), actorOf(who), r.PathValue("staff"))
		if err != nil {
			return a.redirectWithFault(w, r, staffPath(r), err)
		}
		return a.Site.Redirect(w, r, cmp.Or(back, staffPath(r)), ui.Done(done, "name", s.Name))
	}
}

// newPassword gives a staff user a new password and shows it once. Its text has the key of the title and _text.
func (a *Admin) newPassword(
	change func(ctx context.Context, actor access.Actor, id string) (*access.Staff, string, error), title string,
) handler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		s, password, err := change(r.Context(), actorOf(who), r.PathValue("staff"))
		if err != nil {
			return a.redirectWithFault(w, r, staffPath(r), err)
		}
		return a.showOnce(w, r, onceView{
			Title: a.Site.T(r, title, "name", s.Name), Text: a.Site.T(r, title+"_text"), Back: staffPath(r),
			Values: []onceValue{{a.Site.T(r, "admin.email"), s.Email}, {a.Site.T(r, "admin.password"), password}},
		})
	}
}

func (a *Admin) changeRole(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	role := access.StaffRole(form.Get("role"))
	s, err := a.Service.ChangeStaffRole(r.Context(), actorOf(who), r.PathValue("staff"), role)
	if err != nil {
		return a.redirectWithFault(w, r, staffPath(r), err)
	}
	name := a.Site.T(r, "admin.role."+string(s.Role))
	return a.Site.Redirect(w, r, staffPath(r), ui.Done("admin.staff.role_changed", "name", s.Name, "role", name))
}

func (a *Admin) rotateToken(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	networks := form.Networks("networks")
	if !form.OK() {
		return a.Site.Redirect(w, r, staffPath(r), ui.Failed("admin.staff.bad_networks"))
	}
	s, token, err := a.Service.RotateStaffToken(r.Context(), actorOf(who), r.PathValue("staff"), networks)
	if err != nil {
		return a.redirectWithFault(w, r, staffPath(r), err)
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.staff.token_made", "name", s.Name), Text: a.Site.T(r, "admin.staff.token_made_text"),
		Values: []onceValue{{a.Site.T(r, "admin.staff.token"), token}}, Back: staffPath(r),
	})
}
