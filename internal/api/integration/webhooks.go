package integration

import (
	"context"
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
	"github.com/assayhq/assay/internal/service"
)

type endpointView struct {
	ID            string          `json:"id"`
	APIKeyID      string          `json:"api_key_id"`
	Name          *string         `json:"name"`
	URL           string          `json:"url"`
	Events        []webhook.Event `json:"events"`
	CreatedAt     wire.Timestamp  `json:"created_at"`
	Auth          *oauthView      `json:"auth,omitempty"`
	SigningSecret string          `json:"signing_secret,omitempty"` // only in the answer to a creation
	Paused        bool            `json:"paused,omitempty"`
}

type oauthView struct {
	Type     string  `json:"type"`
	TokenURL string  `json:"token_url"`
	ClientID string  `json:"client_id"`
	Scope    *string `json:"scope"`
}

func viewEndpoint(e *webhook.Endpoint) endpointView {
	v := endpointView{
		ID: e.ID, APIKeyID: e.APIKeyID, Name: optional(e.Name), URL: e.URL, Events: e.Events,
		CreatedAt: wire.Timestamp(e.CreatedAt), Paused: e.PausedAt != nil,
	}
	if e.OAuth != nil {
		v.Auth = &oauthView{
			Type: webhook.AuthOAuth2, TokenURL: e.OAuth.TokenURL, ClientID: e.OAuth.ClientID, Scope: optional(e.OAuth.Scope),
		}
	}
	return v
}

func (a *API) createWebhook(w http.ResponseWriter, r *http.Request, c *call) error {
	n, err := a.readEndpoint(r)
	if err != nil {
		return err
	}
	e, secret, err := a.Service.CreateEndpoint(r.Context(), c.actor(r), c.key.ID, n)
	if err != nil {
		return err
	}
	view := viewEndpoint(e)
	view.SigningSecret = secret
	return httpx.WriteJSON(w, http.StatusCreated, view)
}

func (a *API) readEndpoint(r *http.Request) (service.NewEndpoint, error) {
	var n service.NewEndpoint
	o, err := a.readObject(r)
	if err != nil {
		return n, err
	}
	n.Name = o.String("name", input.NotEmpty, input.MaxChars(webhook.MaxName))
	n.URL = readURL(o, "url", webhook.CheckURL)
	for _, name := range o.Strings("events", input.Required, input.MinItems(1), input.MaxItems(len(webhook.Events)),
		input.Unique, input.OneOf(enum.Names(webhook.Events)...)) {
		n.Events = append(n.Events, webhook.Event(name))
	}
	if auth := o.Object("auth"); auth.Exists() {
		auth.String("type", input.Required, input.OneOf(webhook.AuthOAuth2))
		n.OAuth = &service.NewOAuth{
			TokenURL:     readURL(auth, "token_url", webhook.CheckTokenURL),
			ClientID:     auth.String("client_id", input.Required, input.NotEmpty, input.MaxChars(webhook.MaxClientID)),
			ClientSecret: auth.String("client_secret", input.Required, input.NotEmpty, input.MaxChars(webhook.MaxClientSecret)),
			Scope:        auth.String("scope", input.MaxChars(webhook.MaxScope)),
		}
	}
	return n, o.Done()
}

// readURL reads a required URL and checks it against the rules of webhook URLs.
func readURL(o input.Object, name string, check func(field, raw string) (webhook.URL, *fault.Problem)) webhook.URL {
	raw := o.OptString(name, input.Required)
	if raw == nil {
		return webhook.URL{}
	}
	u, problem := check(name, *raw)
	if problem != nil {
		o.Problem(name, problem.Code, problem.Message)
	}
	return u
}

func (a *API) listWebhooks(w http.ResponseWriter, r *http.Request, c *call) error {
	endpoints, err := a.Service.EndpointsOfKey(r.Context(), c.actor(r), c.key.ID)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, listView[endpointView]{views(endpoints, viewEndpoint)})
}

func (a *API) deleteWebhook(w http.ResponseWriter, r *http.Request, c *call) error {
	return c.remove(w, r, webhookEndpoint, a.Service.DeleteEndpoint)
}

// remove answers an operation that ends what the path names.
func (c *call) remove(
	w http.ResponseWriter, r *http.Request, what string,
	remove func(ctx context.Context, actor access.Actor, id string) error,
) error {
	id, err := c.uuid(what)
	if err != nil {
		return err
	}
	if err := remove(r.Context(), c.actor(r), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

const webhookEndpoint = "webhook endpoint"

// uuid returns the id in the path.
func (c *call) uuid(of string) (string, error) {
	id, ok := service.ParseID(c.id)
	if !ok {
		return "", fault.BadRequest("The "+of+" id must be a UUID.").With("field", "id")
	}
	return id, nil
}

// updateWebhook pauses an endpoint or lets it go on: nothing else of it can be changed.
func (a *API) updateWebhook(w http.ResponseWriter, r *http.Request, c *call) error {
	o, err := a.readObject(r)
	if err != nil {
		return err
	}
	paused := o.Bool("paused", input.Required)
	if err := o.Done(); err != nil {
		return err
	}
	id, err := c.uuid(webhookEndpoint)
	if err != nil {
		return err
	}
	e, err := a.Service.PauseEndpoint(r.Context(), c.actor(r), id, paused)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, viewEndpoint(e))
}

type rotationView struct {
	ID                 string         `json:"id"`
	SigningSecret      string         `json:"signing_secret"`
	PreviousValidUntil wire.Timestamp `json:"previous_valid_until"`
}

func (a *API) rotateSecret(w http.ResponseWriter, r *http.Request, c *call) error {
	if err := a.readNothing(r); err != nil {
		return err
	}
	id, err := c.uuid(webhookEndpoint)
	if err != nil {
		return err
	}
	e, secret, err := a.Service.RotateSecret(r.Context(), c.actor(r), id)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, rotationView{e.ID, secret, wire.Timestamp(e.Rotation.PreviousUntil)})
}
