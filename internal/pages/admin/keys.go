package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

type keysView struct {
	*accountHead
	Keys         []*access.Key
	Form         *ui.Form
	Environments []ui.Option
	Scopes       []ui.Option
	Limits       []limitField
}

// limitField is the field for the limit of a category.
type limitField struct {
	Field   string
	Label   string
	Default int
}

func (a *Admin) limitFields(r *http.Request) []limitField {
	fields := make([]limitField, len(ratelimit.Categories))
	for i, c := range ratelimit.Categories {
		fields[i] = limitField{Field: "limit_" + c, Label: a.Site.T(r, "admin.limit."+c), Default: ratelimit.DefaultLimit(c)}
	}
	return fields
}

// limitsOf reads the limits that a form gives; an empty field is the default.
func limitsOf(form *ui.Form) map[string]int {
	limits := make(map[string]int)
	for _, c := range ratelimit.Categories {
		entered := form.Get("limit_" + c)
		if entered == "" {
			continue
		}
		n, err := strconv.Atoi(entered)
		if err != nil {
			form.Fail("limit_"+c, "admin.problem.range")
		}
		limits[c] = n
	}
	return limits
}

func (a *Admin) listKeys(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	form := ui.NewForm("environment", string(access.Test))
	for _, s := range access.AllScopes {
		form.Values.Add("scopes", string(s))
	}
	return a.renderKeys(w, r, who, head, form)
}

func (a *Admin) renderKeys(
	w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead, form *ui.Form,
) error {
	keys, err := a.Service.Keys(r.Context(), actorOf(who), head.Account.ID)
	if err != nil {
		return err
	}
	v := keysView{accountHead: head, Keys: keys, Form: form, Limits: a.limitFields(r)}
	v.Environments = ui.Words(a.Site, r, "admin.env.", access.Environments)
	for _, s := range access.AllScopes {
		v.Scopes = append(v.Scopes, ui.Option{Value: string(s), Label: string(s)})
	}
	return a.pages.Render(w, r, ui.Page{Template: "keys", Data: v, Form: form})
}

func (a *Admin) createKey(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	n := service.NewKey{
		Tenant: access.Tenant{AccountID: head.Account.ID, Environment: access.Environment(form.Get("environment"))},
		Name:   form.Get("name"), Limits: limitsOf(form), Networks: form.Networks("networks"),
	}
	for _, s := range form.All("scopes") {
		n.Scopes = append(n.Scopes, access.Scope(s))
	}
	if !form.OK() {
		return a.renderKeys(w, r, who, head, form)
	}
	k, secret, err := a.Service.CreateKey(r.Context(), actorOf(who), n)
	if err != nil {
		if err := a.pages.Refuse(form, err); err != nil {
			return err
		}
		return a.renderKeys(w, r, who, head, form)
	}
	return a.showOnce(w, r, onceView{
		Title: a.Site.T(r, "admin.keys.created", "name", k.Name), Text: a.Site.T(r, "admin.keys.created_text"),
		Values: []onceValue{{a.Site.T(r, "admin.keys.key"), secret}}, Back: accountPath(head.Account, "keys"),
	})
}

type keyView struct {
	*accountHead
	Key       *access.Key
	Endpoints []*webhook.Endpoint
	Name      *ui.Form
	Limit     *ui.Form
	Limits    []limitField
	Network   *ui.Form
}

func (a *Admin) showKey(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	return a.renderKey(w, r, who, &keyView{accountHead: head}, nil)
}

// key returns the key of the address, which has to be one of the account.
func (a *Admin) key(r *http.Request, who *visitor, account *access.Account) (*access.Key, error) {
	k, err := a.Service.Key(r.Context(), actorOf(who), r.PathValue("key"))
	if err == nil && k.AccountID != account.ID {
		return nil, access.KeyNotFound
	}
	return k, err
}

func (a *Admin) renderKey(
	w http.ResponseWriter, r *http.Request, who *visitor, v *keyView, form *ui.Form,
) (err error) {
	if v.Key, err = a.key(r, who, v.Account); err != nil {
		return err
	}
	if v.Endpoints, err = a.Service.EndpointsOfKey(r.Context(), actorOf(who), v.Key.ID); err != nil {
		return err
	}
	if v.Name == nil {
		v.Name = ui.NewForm("name", v.Key.Name)
	}
	if v.Limit == nil {
		v.Limit = ui.NewForm()
		for category, n := range v.Key.Limits {
			v.Limit.Set("limit_"+category, strconv.Itoa(n))
		}
	}
	if v.Network == nil {
		v.Network = ui.NewForm("networks", strings.Join(v.Key.Networks.Texts(), "\n"))
	}
	v.Limits = a.limitFields(r)
	return a.pages.Render(w, r, ui.Page{Template: "key", Data: v, Form: form})
}

// changeKey reads a form, changes the key with it, and shows the key again.
func (a *Admin) changeKey(
	w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead, done string,
	change func(*keyView, *ui.Form) error,
) error {
	form, err := ui.ReadForm(w, r)
	if err != nil {
		return err
	}
	v := &keyView{accountHead: head}
	if v.Key, err = a.key(r, who, head.Account); err != nil {
		return err
	}
	if err := a.pages.Refuse(form, change(v, form)); err != nil {
		return err
	}
	if !form.OK() {
		return a.renderKey(w, r, who, v, form)
	}
	return a.Site.Redirect(w, r, accountPath(head.Account, "keys", r.PathValue("key")), ui.Done(done))
}

func (a *Admin) renameKey(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	return a.changeKey(w, r, who, head, "admin.keys.renamed", func(v *keyView, form *ui.Form) error {
		v.Name = form
		return a.Service.RenameKey(r.Context(), actorOf(who), v.Key.ID, form.Get("name"))
	})
}

func (a *Admin) setKeyLimits(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	return a.changeKey(w, r, who, head, "admin.keys.limits_set", func(v *keyView, form *ui.Form) error {
		v.Limit = form
		limits := limitsOf(form)
		if !form.OK() {
			return nil
		}
		return a.Service.SetKeyLimits(r.Context(), actorOf(who), v.Key.ID, limits)
	})
}

func (a *Admin) setKeyNetworks(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	return a.changeKey(w, r, who, head, "admin.keys.networks_set", func(v *keyView, form *ui.Form) error {
		v.Network = form
		networks := form.Networks("networks")
		if !form.OK() {
			return nil
		}
		return a.Service.SetKeyNetworks(r.Context(), actorOf(who), v.Key.ID, networks)
	})
}

func (a *Admin) revokeKey(w http.ResponseWriter, r *http.Request, who *visitor, head *accountHead) error {
	k, err := a.key(r, who, head.Account)
	if err == nil {
		k, err = a.Service.RevokeKey(r.Context(), actorOf(who), k.ID)
	}
	if err != nil {
		return err
	}
	return a.Site.Redirect(w, r, accountPath(head.Account, "keys"), ui.Done("admin.keys.revoked", "name", k.Name))
}
