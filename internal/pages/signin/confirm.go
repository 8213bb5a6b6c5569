package signin

import (
	"net/http"

	"github.com/assayhq/assay/internal/pages/ui"
	auth "github.com/assayhq/assay/internal/service/signin"
)

// currentCode is the field of a code of the second factor that somebody has, in forms that change how they sign in.
const currentCode = "current_code"

// proofIn returns what was given in a form to prove who somebody is; field is that of the password.
func proofIn(form *ui.Form, field string) auth.Proof {
	return auth.Proof{Password: form.Raw(field), Code: form.Get(currentCode)}
}

// proofView is what has to be given before how somebody signs in is changed.
type proofView struct {
	Code    bool   // not only the password
	Done    bool   // nothing: they have just used a passkey
	Passkey string // where a passkey can be used instead; empty: they have none
}

func (p *Pages) proofView(r *http.Request, who *Visitor) (proofView, error) {
	now := p.Site.Now()
	if who.Session.ProvedWithPasskey(now) {
		return proofView{Done: true}, nil
	}
	has, err := p.SignIn.HasSecondFactor(r.Context(), who.ID)
	v := proofView{Code: has && !who.Session.Proved(now)}
	if err != nil {
		return v, err
	}
	usable, err := p.hasPasskey(r, who)
	if usable {
		v.Passkey = p.Settings + "/confirm"
	}
	return v, err
}

// hasPasskey reports whether somebody has a passkey that browsers can use here.
func (p *Pages) hasPasskey(r *http.Request, who *Visitor) (bool, error) {
	if _, ok := p.SignIn.RelyingParty(); !ok {
		return false, nil
	}
	passkeys, err := p.SignIn.Passkeys(r.Context(), who.ID)
	return len(passkeys) > 0, err
}

// confirmView asks who somebody is before they go on.
type confirmView struct {
	at
	Email string
	Proof proofView
	Form  *ui.Form
	Next  string
	Here  string // where passkeys work; empty: they have none
}

func (p *Pages) confirmPage(r *http.Request, who *Visitor, form *ui.Form, next string) (ui.Page, error) {
	v := confirmView{at: p.at(), Email: who.Email, Form: form, Next: ui.SafeNext(next, p.Settings)}
	usable, err := p.hasPasskey(r, who)
	if err != nil {
		return ui.Page{}, err
	}
	if usable {
		v.Here = v.Origin
	}
	v.Proof.Code, err = p.SignIn.HasSecondFactor(r.Context(), who.ID)
	return ui.Page{Template: "confirm", Data: v, Form: form}, err
}

func (p *Pages) showConfirm(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	page, err := p.confirmPage(r, who, ui.NewForm(), r.URL.Query().Get("next"))
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

// confirm takes a proof and lets the visitor go back to what they were about to change.
func (p *Pages) confirm(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	err := p.SignIn.ProveAgain(r.Context(), who.Person, proofIn(form, "password"), who.Origin)
	return p.confirmed(w, r, who, form, "password", err)
}

// confirmWithPasskey is confirm with a passkey, which stands for password and code.
func (p *Pages) confirmWithPasskey(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	browser, _ := p.Site.Signed(r, p.browserCookie()) // nobody has a challenge of no browser
	err := p.SignIn.ProveWithPasskey(
		r.Context(), who.Person, browser, form.Get("ceremony"), form.Get("answer"), who.Origin)
	return p.confirmed(w, r, who, form, "", err)
}

// confirmed leads back after a proof, or shows the form again when that was refused.
func (p *Pages) confirmed(
	w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form, passwordField string, refusal error,
) error {
	if refusal == nil {
		return p.Site.Redirect(w, r, ui.SafeNext(form.Get("next"), p.Settings), ui.Done("signin.confirm.done"))
	}
	page, err := p.confirmPage(r, who, form, form.Get("next"))
	if err != nil {
		return err
	}
	return p.refuse(w, r, page, passwordField, refusal)
}
