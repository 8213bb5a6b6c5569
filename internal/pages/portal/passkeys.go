package portal

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
)

// passkeysView is the part of a member's settings about their passkeys.
type passkeysView struct {
	Passkeys []*access.Passkey
	Origin   string // where they work; empty: nowhere
	Address  string // of the portal
	Form     *ui.Form
}

func (p *Portal) passkeysView(r *http.Request, who *visitor, form *ui.Form) (*passkeysView, error) {
	passkeys, err := p.SignIn.Passkeys(r.Context(), who.User)
	return &passkeysView{Passkeys: passkeys, Origin: p.passkeyOrigin(), Address: p.Service.PublicURL, Form: form}, err
}

// newPasskeyView is a passkey that waits for its device.
type newPasskeyView struct {
	Name     string
	Options  string
	Ceremony string
	Origin   string
}

// beginPasskey takes the name of a passkey and the password of the member, and shows the page on which the device makes it.
func (p *Portal) beginPasskey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	c, err := p.SignIn.BeginNewPasskey(r.Context(), who.User, form.Get("name"), form.Raw("passkey_password"), who.Session.ID, ui.OriginOf(r))
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{NewPasskey: form}, form, "passkey_password", err)
	}
	return p.pages.Render(w, r, ui.Page{Template: "passkey_new", Data: newPasskeyView{
		Name: form.Get("name"), Options: string(c.Options), Ceremony: c.Sealed, Origin: p.passkeyOrigin(),
	}})
}

func (p *Portal) addPasskey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	k, err := p.SignIn.AddPasskey(r.Context(), who.User, form.Get("ceremony"), form.Get("answer"), who.Session.ID, ui.OriginOf(r))
	if err != nil {
		return p.refuseSettings(w, r, who, &settingsView{NewPasskey: form}, form, "", err)
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.passkey.made", "name", k.Name))
}

// passkeyView is one passkey with what can be done about it.
type passkeyView struct {
	Passkey *access.Passkey
	Rename  *ui.Form
	Remove  *ui.Form
}

func (p *Portal) showPasskey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	k, err := p.SignIn.PasskeyOf(r.Context(), who.User, r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "passkey", Data: passkeyView{Passkey: k, Rename: ui.NewForm("name", k.Name)}})
}

func (p *Portal) renamePasskey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, k, err := p.passkeyForm(w, r, who)
	if err != nil {
		return err
	}
	if err := p.SignIn.RenamePasskey(r.Context(), who.User, k.ID, form.Get("name")); err != nil {
		return p.refuse(w, r, ui.Page{Template: "passkey", Data: passkeyView{Passkey: k, Rename: form}}, form, "", err)
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.passkey.renamed", "name", form.Get("name")))
}

func (p *Portal) removePasskey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form, k, err := p.passkeyForm(w, r, who)
	if err != nil {
		return err
	}
	if err := p.SignIn.RemovePasskey(r.Context(), who.User, k.ID, form.Raw("password"), who.Session.ID, ui.OriginOf(r)); err != nil {
		v := passkeyView{Passkey: k, Rename: ui.NewForm("name", k.Name), Remove: form}
		return p.refuse(w, r, ui.Page{Template: "passkey", Data: v}, form, "password", err)
	}
	return p.Site.Redirect(w, r, "/portal/settings", ui.Done("portal.passkey.removed", "name", k.Name))
}

// passkeyForm returns what was entered about the passkey of the address.
func (p *Portal) passkeyForm(w http.ResponseWriter, r *http.Request, who *visitor) (*ui.Form, *access.Passkey, error) {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return nil, nil, err
	}
	k, err := p.SignIn.PasskeyOf(r.Context(), who.User, r.PathValue("id"))
	return form, k, err
}
