package portal

import (
	"net/http"
	"slices"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type teamView struct {
	Me          *service.Member
	Users       []*access.User
	Invitations []*access.Link
	Owner       bool
	Mail        bool     // links go by mail
	Form        *ui.Form // of an invitation
	Roles       []ui.Option
	Locales     []ui.Option
	Locale      *ui.Form
}

func (p *Portal) showTeam(w http.ResponseWriter, r *http.Request, who *visitor) error {
	page, err := p.teamPage(r, who, ui.NewForm("role", string(access.Developer)))
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

func (p *Portal) teamPage(r *http.Request, who *visitor, form *ui.Form) (ui.Page, error) {
	v := teamView{
		Me: who.User, Owner: who.User.Role.Includes(access.Owner), Mail: p.Service.SendsMail(), Form: form,
		Locale: ui.NewForm("locale", string(who.User.Account.Locale)),
	}
	var err error
	v.Users, v.Invitations, err = p.Service.Team(r.Context(), actorOf(who))
	for _, role := range access.Roles {
		v.Roles = append(v.Roles, ui.Option{
			Value: string(role), Label: p.Site.T(r, "portal.role."+string(role)),
			Hint: p.Site.T(r, "portal.role_may."+string(role)),
		})
	}
	v.Locales = ui.Languages()
	return ui.Page{Template: "team", Data: v, Form: form}, err
}

// madeLinkView shows a link once, to be handed over.
type madeLinkView struct {
	Email   string
	Address string
	Reset   bool
}

func (p *Portal) invite(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	address, err := p.Service.Invite(r.Context(), actorOf(who), form.Get("email"), access.Role(form.Get("role")))
	if err != nil {
		page, pageErr := p.teamPage(r, who, form)
		if pageErr != nil {
			return pageErr
		}
		return p.pages.Again(w, r, page, err)
	}
	return p.linkMade(w, r, madeLinkView{Email: form.Get("email"), Address: address})
}

// linkMade tells that a link is on its way, or shows it where there is no mail server.
func (p *Portal) linkMade(w http.ResponseWriter, r *http.Request, v madeLinkView) error {
	if v.Address == "" {
		return p.Site.Redirect(w, r, "/portal/team", ui.Done("portal.team.mailed", "email", v.Email))
	}
	return p.pages.Render(w, r, ui.Page{Template: "link_made", Data: v})
}

func (p *Portal) inviteAgain(w http.ResponseWriter, r *http.Request, who *visitor) error {
	id, ok := service.ParseID(r.PathValue("id"))
	if !ok {
		return ui.PageNotFound()
	}
	email, address, err := p.Service.InviteAgain(r.Context(), actorOf(who), id)
	if err != nil {
		return p.teamRefused(w, r, err)
	}
	return p.linkMade(w, r, madeLinkView{Email: email, Address: address})
}

func (p *Portal) uninvite(w http.ResponseWriter, r *http.Request, who *visitor) error {
	id, ok := service.ParseID(r.PathValue("id"))
	if !ok {
		return ui.PageNotFound()
	}
	if err := p.Service.Uninvite(r.Context(), actorOf(who), id); err != nil {
		return p.teamRefused(w, r, err)
	}
	return p.Site.Redirect(w, r, "/portal/team", ui.Done("portal.team.uninvited"))
}

// teamChanged tells on the page of the team what was done, unless it has failed.
func (p *Portal) teamChanged(w http.ResponseWriter, r *http.Request, err error, done string) error {
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, "/portal/team", ui.Done(done))
}

// member returns the user of the address, of the same account.
func (p *Portal) member(r *http.Request, who *visitor) (*access.User, error) {
	users, _, err := p.Service.Team(r.Context(), actorOf(who))
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(users, func(u *access.User) bool { return u.ID == r.PathValue("id") }); at >= 0 {
		return users[at], nil
	}
	return nil, service.UserNotFound
}

func (p *Portal) changeRole(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	u, err := p.member(r, who)
	if err != nil {
		return err
	}
	role := access.Role(form.Get("role"))
	if err := p.Service.ChangeRole(r.Context(), actorOf(who), u.ID, role); err != nil {
		return p.teamRefused(w, r, err)
	}
	name := p.Site.T(r, "portal.role."+string(role))
	return p.Site.Redirect(w, r, "/portal/team", ui.Done("portal.team.role_changed", "email", u.Email, "role", name))
}

// teamRefused tells on the page of the team why it cannot be so.
func (p *Portal) teamRefused(w http.ResponseWriter, r *http.Request, err error) error {
	form := ui.NewForm()
	if err := p.pages.Refuse(form, err); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, "/portal/team", ui.Failed("portal.team.refused", "text", p.pages.FaultText(r, err)))
}

func (p *Portal) showRemoveUser(w http.ResponseWriter, r *http.Request, who *visitor) error {
	u, err := p.member(r, who)
	if err != nil {
		return err
	}
	return p.confirm(w, r, "portal.team.remove", "/portal/team", "email", u.Email)
}

// changeUser changes the member of the address and tells so.
func (p *Portal) changeUser(
	w http.ResponseWriter, r *http.Request, who *visitor, done string, change func(*access.User) error,
) error {
	u, err := p.member(r, who)
	if err != nil {
		return err
	}
	if err := change(u); err != nil {
		return p.teamRefused(w, r, err)
	}
	return p.Site.Redirect(w, r, "/portal/team", ui.Done(done, "email", u.Email))
}

func (p *Portal) removeUser(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return p.changeUser(w, r, who, "portal.team.removed", func(u *access.User) error {
		return p.Service.RemoveUser(r.Context(), actorOf(who), u.ID)
	})
}

func (p *Portal) resetPasswordOf(w http.ResponseWriter, r *http.Request, who *visitor) error {
	u, err := p.member(r, who)
	if err != nil {
		return err
	}
	_, address, err := p.Service.ResetUserPassword(r.Context(), actorOf(who), u.AccountID, u.ID)
	if err != nil {
		return p.teamRefused(w, r, err)
	}
	return p.linkMade(w, r, madeLinkView{Email: u.Email, Address: address, Reset: true})
}

func (p *Portal) resetFactorOf(w http.ResponseWriter, r *http.Request, who *visitor) error {
	return p.changeUser(w, r, who, "portal.team.factor_reset", func(u *access.User) error {
		_, err := p.Service.ResetUserFactors(r.Context(), actorOf(who), u.AccountID, u.ID)
		return err
	})
}

func (p *Portal) setLocale(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	l, ok := text.ParseLocale(form.Get("locale"))
	if !ok {
		return ui.PageNotFound()
	}
	return p.teamChanged(w, r, p.Service.SetPayloadLocale(r.Context(), actorOf(who), l), "portal.team.locale_set")
}
