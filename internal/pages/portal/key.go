package portal

import (
	"net/http"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
)

// keyView is a form about a key.
type keyView struct {
	Form    *ui.Form
	Key     *access.Key
	Address string // of who looks at it
}

type keyPage struct {
	Key    *access.Key
	Maker  string // email of who made it; empty when they have left
	Ended  bool
	Can    bool
	Quotas []quotaView // nil: not known now
	Use    *ui.Chart   // of the limits, minute by minute; nil: the key was not used
}

func (p *Portal) showKey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	k, err := p.Service.Key(r.Context(), actorOf(who), r.PathValue("id"))
	if err != nil {
		return err
	}
	v := keyPage{Key: k, Ended: !k.UsableAt(p.Site.Now()), Can: who.User.Role.Includes(access.Developer)}
	users, _, err := p.Service.Team(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.ID == k.CreatedBy {
			v.Maker = u.Email
		}
	}
	v.Quotas = p.quotas(r, k)
	if v.Use, err = p.useOfLimits(r, who, k, v.Quotas); err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "key", Data: v})
}

func (p *Portal) showRenameKey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	k, err := p.activeKey(r, who)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "key_rename", Data: keyView{Form: ui.NewForm("name", k.Name), Key: k}})
}

// activeKey returns the key of the address, unless it is revoked.
func (p *Portal) activeKey(r *http.Request, who *visitor) (*access.Key, error) {
	k, err := p.Service.Key(r.Context(), actorOf(who), r.PathValue("id"))
	if err == nil && k.RevokedAt != nil {
		return nil, access.KeyNotFound
	}
	return k, err
}

func (p *Portal) renameKey(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	k, err := p.activeKey(r, who)
	if err != nil {
		return err
	}
	if err := p.Service.RenameKey(r.Context(), actorOf(who), k.ID, form.Get("name")); err != nil {
		return p.pages.Again(w, r, ui.Page{Template: "key_rename", Data: keyView{Form: form, Key: k}, Form: form}, err)
	}
	return p.Site.Redirect(w, r, "/portal/keys/"+k.ID, ui.Done("portal.keys.renamed", "name", form.Get("name")))
}

func (p *Portal) showNetworks(w http.ResponseWriter, r *http.Request, who *visitor) error {
	k, err := p.activeKey(r, who)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, p.networksPage(r, k, ui.NewForm("networks", strings.Join(k.Networks.Texts(), "\n"))))
}

func (p *Portal) networksPage(r *http.Request, k *access.Key, form *ui.Form) ui.Page {
	return ui.Page{Template: "key_networks", Form: form, Data: keyView{Form: form, Key: k, Address: ui.OriginOf(r).IP}}
}

func (p *Portal) setNetworks(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	k, err := p.activeKey(r, who)
	if err != nil {
		return err
	}
	networks := form.Networks("networks")
	if !form.OK() {
		return p.pages.Render(w, r, p.networksPage(r, k, form))
	}
	if err := p.Service.SetKeyNetworks(r.Context(), actorOf(who), k.ID, networks); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, "/portal/keys/"+k.ID, ui.Done("portal.keys.networks_set", "name", k.Name))
}

func (p *Portal) showRevokeKey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	k, err := p.activeKey(r, who)
	if err != nil {
		return err
	}
	return p.confirm(w, r, "portal.keys.revoke", "/portal/keys/"+k.ID, "name", k.Name)
}

func (p *Portal) revokeKey(w http.ResponseWriter, r *http.Request, who *visitor) error {
	k, err := p.Service.RevokeKey(r.Context(), actorOf(who), r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, "/portal/keys", ui.Done("portal.keys.revoked", "name", k.Name))
}
