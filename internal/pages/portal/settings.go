package portal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"html/template"
	"image/png"
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

// settingsView is a member's own settings.
type settingsView struct {
	Member       *service.Member
	SecondFactor bool
	CodesLeft    int
	Sessions     []*access.Session
	Current      string // id of the session of this browser
	Password     *ui.Form
	Email        *ui.Form
	Off          *ui.Form // to end the second factor
	Renew        *ui.Form // of the recovery codes
	NewPasskey   *ui.Form
	Passkeys     *passkeysView
}

func (p *Portal) showSettings(w http.ResponseWriter, r *http.Request, who *visitor) error {
	page, err := p.settingsPage(r, who, new(settingsView))
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

func (p *Portal) settingsPage(r *http.Request, who *visitor, v *settingsView) (ui.Page, error) {
	var err error
	v.Member, v.Current = who.User, who.Session.ID
	if v.SecondFactor, err = p.SignIn.HasSecondFactor(r.Context(), who.User.ID); err != nil {
		return ui.Page{}, err
	}
	if v.CodesLeft, err = p.SignIn.RecoveryCodesLeft(r.Context(), who.User); err != nil {
		return ui.Page{}, err
	}
	if v.Passkeys, err = p.passkeysView(r, who, v.NewPasskey); err != nil {
		return ui.Page{}, err
	}
	v.Sessions, err = p.Service.Sessions(r.Context(), access.Portal, who.User.ID)
	return ui.Page{Template: "settings", Data: v}, err
}

// refuseSettings shows the settings again when it was the member who was wrong.
func (p *Portal) refuseSettings(w http.ResponseWriter, r *http.Request, who *visitor, v *settingsView, form *ui.Form, field string, refusal error) error {
	page, err := p.settingsPage(r, who, v)
	if err != nil {
		return err
	}
	if refusal == nil {
		page.Status = http.StatusUnprocessableEntity
		return p.pages.Render(w, r, page)
	}
	return p.refuse(w, r, page, form, field, refusal)
}

func (p *Portal) changePassword(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	v := &settingsView{Password: form}
	if checkPassword(form); !form.OK() {
		return p.refuseSettings(w, r, who, v, form, "", nil)
	}
	err = p.SignIn.ChangePassword(r.Context(), who.User, form.Raw("password"), form.Raw("new_password"), who.Session.ID, ui.OriginOf(r))
	if err != nil {
		return p.refuseSettings(w, r, who, v, form, "password", err)
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.settings.password_changed"))
}

func (p *Portal) changeEmail(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	err = p.SignIn.ChangeEmail(r.Context(), who.User, form.Raw("email_password"), form.Get("email"), who.Session.ID, ui.OriginOf(r))
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{Email: form}, form, "email_password", err)
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.settings.email_changed"))
}

// secondFactorView is a second factor that waits for its first code.
type secondFactorView struct {
	Form   *ui.Form
	Secret string
	Sealed string
	QR     template.URL
}

func (p *Portal) showSecondFactor(w http.ResponseWriter, r *http.Request, who *visitor) error {
	e, err := p.SignIn.BeginSecondFactor(who.User)
	if err != nil {
		return err
	}
	page, err := secondFactorPage(e, ui.NewForm())
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

func secondFactorPage(e *service.Enrolment, form *ui.Form) (ui.Page, error) {
	code, err := qrCode(e.URL)
	return ui.Page{Template: "second_factor", Data: secondFactorView{Form: form, Secret: e.Secret, Sealed: e.Sealed, QR: code}}, err
}

// qrCode draws a text as a picture that stands in the page itself: nobody else is asked to draw a secret.
func qrCode(text string) (template.URL, error) {
	const side = 240
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", err
	}
	scaled, err := barcode.Scale(code, side, side)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, scaled); err != nil {
		return "", err
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil //nolint:gosec // made here
}

// recoveryView shows recovery codes once.
type recoveryView struct{ Codes []string }

func (p *Portal) confirmSecondFactor(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	e, err := p.SignIn.ResumeSecondFactor(who.User, form.Get("sealed"))
	if err != nil {
		return err
	}
	codes, err := p.SignIn.ConfirmSecondFactor(r.Context(), who.User, e, form.Get("code"), who.Session.ID, ui.OriginOf(r))
	if err != nil {
		page, pageErr := secondFactorPage(e, form)
		if pageErr != nil {
			return errors.Join(pageErr, err)
		}
		return p.refuse(w, r, page, form, "", err)
	}
	return p.pages.Render(w, r, ui.Page{Template: "recovery", Data: recoveryView{Codes: codes}})
}

func (p *Portal) endSecondFactor(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	if err := p.SignIn.EndSecondFactor(r.Context(), who.User, form.Raw("off_password"), who.Session.ID, ui.OriginOf(r)); err != nil {
		return p.refuseSettings(w, r, who, &settingsView{Off: form}, form, "off_password", err)
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.settings.factor_off"))
}

func (p *Portal) renewRecoveryCodes(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	codes, err := p.SignIn.RenewRecoveryCodes(r.Context(), who.User, form.Raw("renew_password"), ui.OriginOf(r))
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{Renew: form}, form, "renew_password", err)
	}
	return p.pages.Render(w, r, ui.Page{Template: "recovery", Data: recoveryView{Codes: codes}})
}

func (p *Portal) endSession(w http.ResponseWriter, r *http.Request, who *visitor) error {
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		return ui.PageNotFound()
	}
	if err := p.Service.RevokeSession(r.Context(), access.Portal, who.User.ID, id); err != nil {
		return err
	}
	if id == who.Session.ID {
		return p.Site.Redirect(w, r, "/portal/sign-in", ui.Done("portal.signin.out"))
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.settings.session_ended"))
}

func (p *Portal) endOtherSessions(w http.ResponseWriter, r *http.Request, who *visitor) error {
	if err := p.Service.RevokeSessions(r.Context(), access.Portal, who.User.ID, who.Session.ID); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.settings.sessions_ended"))
}
