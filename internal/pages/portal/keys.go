package portal

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type keysView struct {
	Active, Ended []*access.Key
	Makers        map[string]string // emails of those who made them, by id
	Can           bool
}

func (p *Portal) showKeys(w http.ResponseWriter, r *http.Request, who *visitor) error {
	keys, err := p.Service.Keys(r.Context(), actorOf(who), who.User.AccountID)
	if err != nil {
		return err
	}
	v := keysView{Makers: make(map[string]string), Can: who.User.Role.Includes(access.Developer)}
	slices.Reverse(keys) // newest first
	for _, k := range keys {
		if k.UsableAt(p.Site.Now()) {
			v.Active = append(v.Active, k)
		} else {
			v.Ended = append(v.Ended, k)
		}
	}
	users, _, err := p.Service.Team(r.Context(), actorOf(who))
	if err != nil {
		return err
	}
	for _, u := range users {
		v.Makers[u.ID] = u.Email
	}
	return p.pages.Render(w, r, ui.Page{Template: "keys", Data: v})
}

type newKeyView struct {
	Form         *ui.Form
	Environments []ui.Option
	Scopes       []ui.Option
	First, Last  string // days that the key may expire after
}

func (p *Portal) newKeyView(r *http.Request, form *ui.Form) newKeyView {
	now := p.Site.Now().UTC()
	v := newKeyView{
		Form: form, First: now.AddDate(0, 0, 1).Format(time.DateOnly),
		Last: now.AddDate(service.MaxKeyYears, 0, -1).Format(time.DateOnly),
	}
	for _, env := range access.Environments {
		v.Environments = append(v.Environments, ui.Option{
			Value: string(env), Label: p.Site.T(r, "portal.env."+string(env)), Hint: p.Site.T(r, "portal.keys.env_"+string(env)),
		})
	}
	for _, scope := range access.AllScopes {
		hint := p.Site.T(r, "portal.scope."+strings.ReplaceAll(string(scope), ":", "_"))
		v.Scopes = append(v.Scopes, ui.Option{Value: string(scope), Label: string(scope), Hint: hint})
	}
	return v
}

func (p *Portal) showNewKey(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	form := ui.NewForm("environment", string(p.environment(r)))
	for _, scope := range access.AllScopes {
		form.Values.Add("scopes", string(scope))
	}
	return p.pages.Render(w, r, ui.Page{Template: "key_new", Data: p.newKeyView(r, form)})
}

type madeKeyView struct {
	Key    *access.Key
	Secret string
	Curl   string
}

// createKey shows the key once, in the answer itself: it must not travel in a cookie or an address.
func (p *Portal) createKey(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	n := service.NewKey{Name: form.Get("name")}
	env, ok := access.ParseEnvironment(form.Get("environment"))
	if !ok {
		form.Fail("environment", "ui.problem.unknown_code")
	}
	n.Tenant = access.Tenant{AccountID: who.User.AccountID, Environment: env}
	for _, s := range access.AllScopes {
		if slices.Contains(form.All("scopes"), string(s)) {
			n.Scopes = append(n.Scopes, s)
		}
	}
	if day := form.Get("expires"); day != "" {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			form.Fail("expires", "portal.problem.date")
		}
		end := at.AddDate(0, 0, 1) // the day itself is included
		n.ExpiresAt = &end
	}
	n.Networks = form.Networks("networks")
	page := ui.Page{Template: "key_new", Data: p.newKeyView(r, form), Form: form}
	if !form.OK() {
		return p.pages.Render(w, r, page)
	}
	k, secretKey, err := p.Service.CreateKey(r.Context(), actorOf(who), n)
	if err != nil {
		return p.pages.Again(w, r, page, err)
	}
	curl := "curl -H 'Authorization: Bearer " + secretKey + "' \\\n  '" + p.api("/balance") + "'"
	return p.pages.Render(w, r, ui.Page{Template: "key_made", Data: madeKeyView{Key: k, Secret: secretKey, Curl: curl}})
}

// anything is the option of a filter that does not filter.
func (p *Portal) anything(r *http.Request) ui.Option {
	return ui.Option{Label: p.Site.T(r, "portal.any")}
}

// usableKeys returns the keys of the environment that can be used now.
func (p *Portal) usableKeys(r *http.Request, who *visitor) ([]*access.Key, error) {
	keys, err := p.Service.Keys(r.Context(), who.actor(), who.User.AccountID)
	return slices.DeleteFunc(keys, func(k *access.Key) bool {
		return k.Environment != who.env || !k.UsableAt(p.Site.Now())
	}), err
}

// keyOption is a key to choose.
func keyOption(k *access.Key) ui.Option {
	return ui.Option{Value: k.ID, Label: k.Name + " …" + k.Hint}
}

// api is the address of an operation of the integration interface.
func (p *Portal) api(path string) string { return p.Service.Address() + "/v1/integrations" + path }

// confirmView is a page that asks before something is done that cannot be undone.
type confirmView struct {
	Title, Text, Button string
	Action, Back        string
}

// confirm asks before what the address names is done. The message key is that of the button; title and text are beside
// it. args are for both.
func (p *Portal) confirm(w http.ResponseWriter, r *http.Request, key, back string, args ...any) error {
	return p.pages.Render(w, r, ui.Page{Template: "confirm", Data: confirmView{
		Title: p.Site.T(r, key+"_title", args...), Text: p.Site.T(r, key+"_text", args...), Button: p.Site.T(r, key),
		Action: r.URL.Path, Back: back,
	}})
}
