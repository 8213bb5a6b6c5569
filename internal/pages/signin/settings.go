package signin

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
)

// settingsView is how somebody signs in, with the forms to change it.
type settingsView struct {
	at
	Proof        proofView
	Visitor      *Visitor
	About        string
	Address      string // of the service
	SecondFactor bool
	CodesLeft    int
	Passkeys     []*access.Passkey
	Sessions     []*access.Session
	ChangeEmail  bool
	HasToken     bool
	NewToken     string // shown once

	Password   *ui.Form
	Email      *ui.Form
	Off        *ui.Form // to end the second factor
	Renew      *ui.Form // of the recovery codes
	NewPasskey *ui.Form
	Token      *ui.Form
}

func (p *Pages) showSettings(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	return p.renderSettings(w, r, who, new(settingsView), nil)
}

func (p *Pages) settingsPage(r *http.Request, who *Visitor, v *settingsView, form *ui.Form) (ui.Page, error) {
	v.at, v.Visitor, v.Address, v.About = p.at(), who, p.SignIn.Host.Address(), p.About(r, who)
	v.ChangeEmail, v.HasToken = p.ChangeEmail, p.NewToken != nil
	page := ui.Page{Template: "settings", Data: v, Form: form}
	var err error
	if v.Proof, err = p.proofView(r, who); err != nil {
		return page, err
	}
	if v.Token == nil {
		v.Token = ui.NewForm()
	}
	if v.SecondFactor, err = p.SignIn.HasSecondFactor(r.Context(), who.ID); err != nil {
		return page, err
	}
	if v.CodesLeft, err = p.SignIn.RecoveryCodesLeft(r.Context(), who.ID); err != nil {
		return page, err
	}
	if v.Passkeys, err = p.SignIn.Passkeys(r.Context(), who.ID); err != nil {
		return page, err
	}
	v.Sessions, err = p.SignIn.Sessions(r.Context(), p.Audience, who.ID)
	return page, err
}

// renderSettings shows the settings; form is that one of them that was sent.
func (p *Pages) renderSettings(
	w http.ResponseWriter, r *http.Request, who *Visitor, v *settingsView, form *ui.Form,
) error {
	page, err := p.settingsPage(r, who, v, form)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

// refuseSettings shows the settings again when it was the visitor who was wrong.
func (p *Pages) refuseSettings(
	w http.ResponseWriter, r *http.Request, who *Visitor, v *settingsView, form *ui.Form, field string, refusal error,
) error {
	page, err := p.settingsPage(r, who, v, form)
	if err != nil {
		return err
	}
	return p.refuse(w, r, page, field, refusal)
}

func (p *Pages) changePassword(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	v := &settingsView{Password: form}
	if checkPassword(form); !form.OK() {
		return p.renderSettings(w, r, who, v, form)
	}
	err := p.SignIn.ChangePassword(
		r.Context(), who.Person, proofIn(form, "password"), form.Raw("new_password"), who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, v, form, "password", err)
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.password.changed"))
}

func (p *Pages) changeEmail(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	done, err := p.SignIn.ChangeEmail(
		r.Context(), who.Person, proofIn(form, "email_password"), form.Get("email"), who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{Email: form}, form, "email_password", err)
	}
	if !done {
		return p.Site.Redirect(w, r, p.Settings, ui.Note("signin.email.sent", "email", form.Get("email")))
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.email.changed"))
}

// newToken shows a new token once, in the answer itself: it must not travel in a cookie.
func (p *Pages) newToken(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	v := &settingsView{Token: form}
	networks := form.Networks("networks")
	if !form.OK() {
		return p.renderSettings(w, r, who, v, form)
	}
	var err error
	v.NewToken, err = p.NewToken(r.Context(), who.ID, proofIn(form, "token_password"), networks, who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, v, form, "token_password", err)
	}
	return p.renderSettings(w, r, who, v, form)
}

func (p *Pages) endSession(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return ui.PageNotFound()
	}
	if err := p.SignIn.RevokeSession(r.Context(), p.Audience, who.ID, id.String(), who.Origin); err != nil {
		return err
	}
	if id.String() == who.Session.ID {
		return p.Site.Redirect(w, r, p.base+"/sign-in", ui.Done("signin.out"))
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.sessions.ended"))
}

func (p *Pages) endOtherSessions(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	if err := p.SignIn.RevokeSessions(r.Context(), p.Audience, who.ID, who.Session.ID, who.Origin); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.sessions.all_ended"))
}
