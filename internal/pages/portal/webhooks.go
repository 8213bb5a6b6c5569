package portal

import (
	"errors"
	"net/http"
	"slices"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type webhooksView struct {
	place
	Keys []keyEndpoints
	Any  bool // there is an endpoint
	Curl string
}

// keyEndpoints are the endpoints of one key.
type keyEndpoints struct {
	*access.Key
	Usable    bool
	Endpoints []*webhook.Endpoint
}

func (p *Portal) showWebhooks(w http.ResponseWriter, r *http.Request, who *visitor) error {
	v := webhooksView{place: p.place(r, who, "/webhooks"), Curl: p.curl("/webhooks")}
	endpoints, err := p.Service.Endpoints(r.Context(), who.actor(), who.actor().Tenant)
	if err != nil {
		return err
	}
	keys, err := p.Service.Keys(r.Context(), who.actor(), who.User.AccountID)
	if err != nil {
		return err
	}
	slices.Reverse(keys)
	for _, k := range keys {
		if k.Environment != who.env {
			continue
		}
		group := keyEndpoints{Key: k, Usable: k.UsableAt(p.Site.Now())}
		for _, e := range endpoints {
			if e.APIKeyID == k.ID {
				group.Endpoints = append(group.Endpoints, e)
			}
		}
		if group.Usable || len(group.Endpoints) > 0 {
			v.Keys = append(v.Keys, group)
		}
	}
	v.Any = len(endpoints) > 0
	return p.pages.Render(w, r, ui.Page{Template: "webhooks", Data: v})
}

type newEndpointView struct {
	place
	Form   *ui.Form
	Keys   []ui.Option
	Events []ui.Option
	Auths  []ui.Option
}

func (p *Portal) newEndpointView(r *http.Request, who *visitor, form *ui.Form) (*newEndpointView, error) {
	v := &newEndpointView{place: p.place(r, who, "/webhooks"), Form: form}
	keys, err := p.usableKeys(r, who)
	if err != nil {
		return nil, err
	}
	v.Keys = ui.Options(keys, keyOption)
	v.Events = ui.Options(webhook.Events, func(e webhook.Event) ui.Option {
		return ui.Option{Value: string(e), Label: string(e), Hint: p.Site.T(r, "portal.webhooks.on_"+string(e))}
	})
	v.Auths = ui.Options([]string{webhook.AuthHMAC, webhook.AuthOAuth2}, func(a string) ui.Option {
		key := "portal.webhooks.auth_" + a
		return ui.Option{Value: a, Label: p.Site.T(r, key), Hint: p.Site.T(r, key+"_hint")}
	})
	return v, nil
}

func (p *Portal) showNewEndpoint(w http.ResponseWriter, r *http.Request, who *visitor) error {
	form := ui.NewForm("auth", webhook.AuthHMAC, "key", r.URL.Query().Get("key"))
	for _, e := range webhook.Events {
		form.Values.Add("events", string(e))
	}
	v, err := p.newEndpointView(r, who, form)
	if err != nil {
		return err
	}
	return p.pages.Render(w, r, ui.Page{Template: "webhook_new", Data: v})
}

type madeEndpointView struct {
	place
	Endpoint *webhook.Endpoint
	Secret   string
}

// createEndpoint shows the signing secret once, in the answer itself.
func (p *Portal) createEndpoint(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	v, err := p.newEndpointView(r, who, form)
	if err != nil {
		return err
	}
	page := ui.Page{Template: "webhook_new", Data: v, Form: form}
	n := p.endpointOf(form)
	if form.Get("key") == "" {
		form.Fail("key", "ui.problem.required")
	}
	if !form.OK() {
		return p.pages.Render(w, r, page)
	}
	e, secret, err := p.Service.CreateEndpoint(r.Context(), who.actor(), form.Get("key"), n)
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Code == webhook.CodeUnsafe {
		p.failUnsafe(form, refused)
		return p.pages.Render(w, r, page)
	}
	if err != nil {
		return p.pages.Again(w, r, page, err)
	}
	made := madeEndpointView{place: v.place, Endpoint: e, Secret: secret}
	return p.pages.Render(w, r, ui.Page{Template: "webhook_made", Data: made})
}

// failUnsafe marks an address whose host or port must not be called.
func (p *Portal) failUnsafe(form *ui.Form, refused *fault.Error) {
	field, key := "url", "portal.webhooks.unsafe"
	if refused.Details["field"] == "auth.token_url" {
		field = "token_url"
	}
	switch refused.Details["reason"] {
	case netguard.ReasonPort:
		key = "portal.webhooks.unsafe_port"
	case netguard.ReasonInvalidHost:
		key = "portal.webhooks.unsafe_host"
	}
	form.Fail(field, key, "ports", p.Service.WebhookPorts())
}

// failURL marks an address with which there is a problem.
func (p *Portal) failURL(form *ui.Form, problem *fault.Problem) {
	if problem == nil {
		return
	}
	key := "portal.problem." + problem.Code
	if !p.Site.Messages.Has(key) {
		key = "portal.problem.url"
	}
	form.Fail(problem.Field, key)
}

// endpointOf reads an endpoint from a form and marks what is wrong with it.
func (p *Portal) endpointOf(form *ui.Form) service.NewEndpoint {
	n := service.NewEndpoint{Name: form.Get("name")}
	var problem *fault.Problem
	n.URL, problem = webhook.CheckURL("url", form.Get("url"))
	p.failURL(form, problem)
	var problems []fault.Problem
	if n.Events, problems = webhook.CheckEvents("events", form.All("events")); problems != nil {
		form.Fail("events", "ui.problem.required")
	}
	tooLong := func(field string, most int) {
		if len([]rune(form.Get(field))) > most {
			form.Fail(field, "ui.problem.max_length")
		}
	}
	tooLong("name", webhook.MaxName)
	if form.Get("auth") != webhook.AuthOAuth2 {
		return n
	}
	n.OAuth = &service.NewOAuth{
		ClientID: form.Get("client_id"), ClientSecret: form.Raw("client_secret"), Scope: form.Get("scope"),
	}
	n.OAuth.TokenURL, problem = webhook.CheckTokenURL("token_url", form.Get("token_url"))
	p.failURL(form, problem)
	for field, most := range map[string]int{"client_id": webhook.MaxClientID, "client_secret": webhook.MaxClientSecret} {
		if form.Get(field) == "" {
			form.Fail(field, "ui.problem.required")
		}
		tooLong(field, most)
	}
	tooLong("scope", webhook.MaxScope)
	return n
}

func (p *Portal) showDeleteEndpoint(w http.ResponseWriter, r *http.Request, who *visitor) error {
	e, err := p.Service.Endpoint(r.Context(), who.actor(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return p.confirm(w, r, "portal.webhooks.delete", who.base()+"/webhooks", "url", e.URL)
}

func (p *Portal) deleteEndpoint(w http.ResponseWriter, r *http.Request, who *visitor) error {
	if err := p.Service.DeleteEndpoint(r.Context(), who.actor(), r.PathValue("id")); err != nil {
		return err
	}
	return p.Site.Redirect(w, r, who.base()+"/webhooks", ui.Done("portal.webhooks.deleted"))
}

func (p *Portal) sendTestEvent(w http.ResponseWriter, r *http.Request, who *visitor, form *ui.Form) error {
	event := webhook.Event(form.Get("event"))
	id, err := p.Service.SendTestEvent(r.Context(), who.actor(), r.PathValue("id"), event)
	if err != nil {
		return err
	}
	return p.Site.Redirect(w, r, who.base()+"/deliveries/"+id, ui.Done("portal.webhooks.test_sent"))
}
