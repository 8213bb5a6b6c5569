package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// WebhookEvent names a kind of event.
type WebhookEvent string

// Events that webhooks deliver. An order that ends in error sends none.
const (
	EventOrderOutcome WebhookEvent = "order-outcome" // an order completed
	EventUpdatePhotos WebhookEvent = "update-photos" // an order asks for photos
)

// CreateWebhook is a new webhook endpoint. Zero optional fields are not sent.
type CreateWebhook struct {
	URL    string         `json:"url"`            // https, publicly reachable
	Events []WebhookEvent `json:"events"`         // one or both
	Name   string         `json:"name,omitempty"` // optional, at most 100 characters
	Auth   *OAuth2        `json:"auth,omitempty"` // nil: deliveries are signed (HMAC)
}

// OAuth2 makes the service fetch an access token with the client-credentials grant and send it as a bearer token,
// instead of signing the deliveries. The secret is never returned.
type OAuth2 struct {
	TokenURL     string // https
	ClientID     string
	ClientSecret string
	Scope        string // optional, separated by spaces
}

// MarshalJSON writes the form of the API, with the type oauth2.
func (o OAuth2) MarshalJSON() ([]byte, error) {
	properties := map[string]string{
		"type":          AuthOAuth2,
		"token_url":     o.TokenURL,
		"client_id":     o.ClientID,
		"client_secret": o.ClientSecret,
	}
	if o.Scope != "" {
		properties["scope"] = o.Scope
	}
	return json.Marshal(properties)
}

// AuthOAuth2 is the [WebhookAuth.Type] of endpoints that use OAuth2.
const AuthOAuth2 = "oauth2"

// Webhook is a webhook endpoint. It belongs to the API key that made it, and gets events only of orders created with
// that key.
type Webhook struct {
	ID        string         `json:"id"`
	APIKeyID  string         `json:"api_key_id"`
	Name      *string        `json:"name"`
	URL       string         `json:"url"`
	Events    []WebhookEvent `json:"events"`
	CreatedAt time.Time      `json:"created_at"`
	Auth      *WebhookAuth   `json:"auth,omitempty"`   // nil for an endpoint with signed deliveries
	Paused    bool           `json:"paused,omitempty"` // its deliveries wait
}

func (w *Webhook) missing() string { return firstMissing("id", w.ID) }

// WebhookAuth describes the OAuth2 settings of an endpoint, without the secret.
type WebhookAuth struct {
	Type     string  `json:"type"`
	TokenURL string  `json:"token_url"`
	ClientID string  `json:"client_id"`
	Scope    *string `json:"scope"`
}

// CreatedWebhook is a new endpoint.
type CreatedWebhook struct {
	Webhook

	// SigningSecret is the key for [ParseWebhook] and [WebhookHandler]: 64 characters, used as they are. It is returned
	// this once only; store it. Empty for an OAuth2 endpoint.
	SigningSecret string `json:"signing_secret,omitempty"`
}

func (w *CreatedWebhook) missing() string { return firstMissing("id", w.ID) }

// CreateWebhook registers an endpoint, at most 10 for each API key. The API key needs the scope webhooks:manage.
// Register endpoints before creating orders, or events are missed. An endpoint can be paused and its secret rotated;
// for anything else delete it and create another.
func (c *Client) CreateWebhook(ctx context.Context, webhook CreateWebhook) (*CreatedWebhook, error) {
	return send[CreatedWebhook](ctx, c, "/webhooks", webhook)
}

// ListWebhooks returns the endpoints of the API key, newest first.
func (c *Client) ListWebhooks(ctx context.Context) ([]Webhook, error) {
	return getList[Webhook](ctx, c, "/webhooks", nil)
}

// DeleteWebhook deletes an endpoint and drops its pending deliveries. The request is sent once; after an ambiguous
// failure it can be repeated, and [CodeNotFound] then means that the endpoint is already deleted.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	return c.remove(ctx, webhooks, id)
}

// PauseWebhook makes the deliveries to an endpoint wait, for at most 7 days; [Client.ResumeWebhook] lets them go on,
// with all their attempts. Both can be repeated.
func (c *Client) PauseWebhook(ctx context.Context, id string) (*Webhook, error) {
	return c.setPaused(ctx, id, true)
}

// ResumeWebhook ends the pause of an endpoint.
func (c *Client) ResumeWebhook(ctx context.Context, id string) (*Webhook, error) {
	return c.setPaused(ctx, id, false)
}

func (c *Client) setPaused(ctx context.Context, id string, paused bool) (*Webhook, error) {
	path, err := webhooks.item(id)
	if err != nil {
		return nil, err
	}
	r := request{method: http.MethodPatch, path: path, json: map[string]bool{"paused": paused}}
	return answerTo[Webhook](ctx, c, r)
}

// RotatedSecret is the new signing secret of an endpoint.
type RotatedSecret struct {
	ID                 string    `json:"id"` // of the endpoint
	SigningSecret      string    `json:"signing_secret"`
	PreviousValidUntil time.Time `json:"previous_valid_until"` // until then deliveries are signed with both
}

func (r *RotatedSecret) missing() string {
	return firstMissing("id", r.ID, "signing_secret", r.SigningSecret)
}

// RotateWebhookSecret gives an endpoint a new signing secret, which is returned this once only. Receivers that use
// [ParseWebhook] or [WebhookHandler] accept deliveries with either secret until PreviousValidUntil. The request is sent
// once. After an ambiguous failure do not simply rotate again: the secret that nobody has received would become the
// previous one, and the one of your receiver would end. [Client.PauseWebhook] first, and resume once the receiver has
// the new secret.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string) (*RotatedSecret, error) {
	return sendTo[RotatedSecret](ctx, c, webhooks, id, "/rotate_secret", struct{}{})
}
