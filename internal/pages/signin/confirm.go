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
	Code bool // not only the password
}

func (p *Pages) proofView(r *http.Request, who *Visitor) (proofView, error) {
	has, err := p.SignIn.HasSecondFactor(r.Context(), who.ID)
	return proofView{Code: has && !who.Session.Proved(p.Site.Now())}, err
}

// confirmView asks who somebody is before they go on.
type confirmView struct {
	at
	Email string
	Proof proofView
	Form  *ui.Form
	Next  string
}

func (p *Pages) confirmPage(r *http.Request, who *Visitor, form *ui.Form, next string) (ui.Page, error) {
	has, err := p.SignIn.HasSecondFactor(r.Context(), who.ID)
	proof := proofView{Code: has}
	return ui.Page{Template: "confirm", Data: confirmView{
		at: p.at(), Email: who.Email, Proof: proof, Form: form, Next: ui.SafeNext(next, p.base),
	}}, err
}

func (p *Pages) showConfirm(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	page, err := p.confirmPage(r, who, ui.NewForm(), r.URL.Query().Get("next"))
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, page)
}

// confirm takes a proof and lets the visitor go back to what they were about to change.
func (p *Pages) confirm(w http.ResponseWriter, r *http.Request, who *Visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	if err := p.SignIn.ProveAgain(r.Context(), who.Person, proofIn(form, "password"), who.Origin); err != nil {
		page, pageErr := p.confirmPage(r, who, form, form.Get("next"))
		if pageErr != nil {
			return pageErr
		}
		return p.refuse(w, r, page, form, "password", err)
	}
	return p.Site.Redirect(w, r, ui.SafeNext(form.Get("next"), p.base), ui.Done("signin.confirm.done"))
}
