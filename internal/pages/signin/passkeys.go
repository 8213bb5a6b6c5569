package signin

import (
	"cmp"
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
)

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
		r.Context(), who.Person, form.Get("name"), proofIn(form, "passkey_password"), who.Session.ID, who.Origin)
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{NewPasskey: form}, form, "passkey_password", err)
	}
	return p.pages.Render(w, r, ui.Page{Template: "passkey_new", Data: newPasskeyView{
		at: p.at(), Name: form.Get("name"), Options: string(c.Options), Ceremony: c.Sealed,
	}})
}

func (p *Pages) addPasskey(w http.ResponseWriter, r *http.Request, who *Visitor, form *ui.Form) error {
	k, err := p.SignIn.AddPasskey(
		r.Context(), who.Person, form.Get("ceremony"), form.Get("answer"), who.Session.ID, who.Origin)
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
	err = p.SignIn.RemovePasskey(r.Context(), who.Person, k.ID, proofIn(form, "password"), who.Session.ID, who.Origin)
	if err != nil {
		return p.refusePasskey(w, r, who, k, ui.NewForm("name", k.Name), form, err)
	}
	return p.Site.Redirect(w, r, p.Settings, ui.Done("signin.passkey.removed", "name", k.Name))
}
