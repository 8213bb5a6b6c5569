package portal

import (
	"net/http"

	"github.com/assayhq/assay/internal/pages/ui"
)

// forgotView is the page for who has forgotten their password. Without a mail server it has no form.
type forgotView struct {
	Form *ui.Form
	Sent bool
}

func (p *Portal) showForgot(w http.ResponseWriter, r *http.Request) error {
	var v forgotView
	if p.Service.SendsMail() {
		v.Form = ui.NewForm()
	}
	return p.pages.Render(w, r, ui.Page{Template: "forgot", Data: v})
}

// forgot takes a request for a link. The answer is the same whether or not somebody has the email.
func (p *Portal) forgot(w http.ResponseWriter, r *http.Request) error {
	if !p.Service.SendsMail() {
		return p.showForgot(w, r)
	}
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	if err := p.SignIn.RequestReset(r.Context(), form.Get("email"), ui.OriginOf(r)); err != nil {
		return p.refuse(w, r, ui.Page{Template: "forgot", Data: forgotView{Form: form}}, form, "", err)
	}
	return p.pages.Render(w, r, ui.Page{Template: "forgot", Data: forgotView{Sent: true}})
}
