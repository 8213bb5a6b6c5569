package signin

import (
	"bytes"
	"encoding/base64"
	"html/template"
	"image/png"
	"net/http"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"

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
		r.Context(), who.Person, e, proofIn(form, "password"), form.Get("code"), who.Session.ID, who.Origin)
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
	err := p.SignIn.EndSecondFactor(r.Context(), who.Person, proofIn(form, "off_password"), who.Session.ID, who.Origin)
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
