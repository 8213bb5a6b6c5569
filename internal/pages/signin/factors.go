package signin

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"html/template"
	"image/png"
	"net/http"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
	auth "github.com/assayhq/assay/internal/service/signin"
)

// factorView is a second factor that waits for its first code.
type factorView struct {
	at
	Proof proofView

	Required bool // nothing else can be done before
	Email    string
	Form     *ui.Form
	Secret   string
	Sealed   string
	QR       template.URL
}

func (p *Pages) showSecondFactor(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	e, err := p.SignIn.BeginSecondFactor(who.Person)
	if err != nil {
		return err
	}
	page, err := p.factorPage(r, who, e, ui.NewForm())
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

func (p *Pages) factorPage(r *http.Request, who *Visitor, e *auth.Enrolment, form *ui.Form) (ui.Page, error) {
	code, err := qrCode(e.URL)
	if err != nil {
		return ui.Page{}, err
	}
	proof, err := p.proofView(r, who)
	if err != nil {
		return ui.Page{}, err
	}
	required, err := p.Guard.FactorNeeded(r.Context(), who.Session)
	return ui.Page{Template: "second_factor", Form: form, Data: factorView{
		at: p.at(), Proof: proof, Required: required, Email: who.Email, Form: form, Secret: e.Secret, Sealed: e.Sealed,
		QR: code,
	}}, err
}

// qrCode draws a text as a picture inside the page itself: nobody else is asked to draw a secret.
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
	encoded := base64.StdEncoding.EncodeToString(b.Bytes())
	return template.URL("data:image/png;base64," + encoded), nil //nolint:gosec // made here
}

func (p *Pages) confirmSecondFactor(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	e, err := p.SignIn.ResumeSecondFactor(who.Person, form.Get("sealed"))
	if err != nil {
		return err
	}
	codes, err := p.SignIn.ConfirmSecondFactor(
		r.Context(), who.Person, e, proofIn(form, "password"), form.Get("code"), who.Origin)
	if err != nil {
		page, pageErr := p.factorPage(r, who, e, form)
		if pageErr != nil {
			return pageErr
		}
		return p.refuse(w, r, page, "password", err)
	}
	return p.showCodes(w, r, codes)
}

func (p *Pages) endSecondFactor(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	err := p.SignIn.EndSecondFactor(r.Context(), who.Person, proofIn(form, "off_password"), who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{Off: form}, form, "off_password", err)
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.factor.is_off"))
}

func (p *Pages) renewRecoveryCodes(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	codes, err := p.SignIn.RenewRecoveryCodes(r.Context(), who.Person, proofIn(form, "renew_password"), who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{Renew: form}, form, "renew_password", err)
	}
	return p.showCodes(w, r, codes)
}

// recoveryView shows recovery codes once.
type recoveryView struct {
	at
	Codes []string
}

func (p *Pages) showCodes(w http.ResponseWriter, r *http.Request, codes []string) error {
	return p.pages.Render(w, r, ui.Page{Template: "recovery", Data: recoveryView{at: p.at(), Codes: codes}})
}

// newPasskeyView is a passkey that waits for its device.
type newPasskeyView struct {
	at
	Name     string
	Options  string
	Ceremony string
}

// beginPasskey takes the name of a passkey and the password, and shows the page on which the device makes it.
func (p *Pages) beginPasskey(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	c, err := p.SignIn.BeginNewPasskey(
		r.Context(), who.Person, form.Get("name"), proofIn(form, "passkey_password"), who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{NewPasskey: form}, form, "passkey_password", err)
	}
	return p.pages.Render(w, r, ui.Page{Template: "passkey_new", Data: newPasskeyView{
		at: p.at(), Name: form.Get("name"), Options: string(c.Options), Ceremony: c.Sealed,
	}})
}

func (p *Pages) addPasskey(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	k, err := p.SignIn.AddPasskey(
		r.Context(), who.Person, form.Get("ceremony"), form.Get("answer"), who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{NewPasskey: form}, form, "", err)
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.passkey.made", "name", k.Name))
}

// passkeyView is one passkey with what can be done about it.
type passkeyView struct {
	at
	Proof   proofView
	Passkey *access.Passkey
	Rename  *ui.Form
	Remove  *ui.Form
}

func (p *Pages) passkeyPage(
	r *http.Request, who *Visitor, k *access.Passkey, rename, remove *ui.Form,
) (ui.Page, error) {
	proof, err := p.proofView(r, who)
	return ui.Page{Template: "passkey", Form: cmp.Or(remove, rename), Data: passkeyView{
		at: p.at(), Proof: proof, Passkey: k, Rename: rename, Remove: remove,
	}}, err
}

// refusePasskey shows the page of a passkey again when it was the visitor who was wrong.
func (p *Pages) refusePasskey(
	w http.ResponseWriter, r *http.Request, who *Visitor, k *access.Passkey, rename, remove *ui.Form, refusal error,
) error {
	page, err := p.passkeyPage(r, who, k, rename, remove)
	if err != nil {
		return err
	}
	return p.refuse(w, r, page, "password", refusal)
}

func (p *Pages) showPasskey(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	k, err := p.SignIn.PasskeyOf(r.Context(), who.ID, r.PathValue("id"))
	if err != nil {
		return err
	}
	page, err := p.passkeyPage(r, who, k, ui.NewForm("name", k.Name), nil)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

func (p *Pages) renamePasskey(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	k, err := p.SignIn.PasskeyOf(r.Context(), who.ID, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := p.SignIn.RenamePasskey(r.Context(), who.Person, k.ID, form.Get("name"), who.Origin); err != nil {
		return p.refusePasskey(w, r, who, k, form, nil, err)
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.passkey.renamed", "name", form.Get("name")))
}

func (p *Pages) removePasskey(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	k, err := p.SignIn.PasskeyOf(r.Context(), who.ID, r.PathValue("id"))
	if err != nil {
		return err
	}
	err = p.SignIn.RemovePasskey(r.Context(), who.Person, k.ID, proofIn(form, "password"), who.Origin)
	if err != nil {
		return p.refusePasskey(w, r, who, k, ui.NewForm("name", k.Name), form, err)
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.passkey.removed", "name", k.Name))
}
