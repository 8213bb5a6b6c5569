package client_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

func TestCreateWebhook(t *testing.T) {
	t.Run("Signed", func(t *testing.T) {
		secret := strings.Repeat("0a", 32)
		s := newService(t, answer(201, `{"id":"w1","api_key_id":"k1","name":"Shop","url":"https://shop.example/hook",
			"events":["order-outcome","update-photos"],"created_at":"2026-03-01T10:00:00.000Z","signing_secret":"`+secret+`"}`))
		got, err := s.client().CreateWebhook(t.Context(), client.CreateWebhook{
			URL: "https://shop.example/hook", Name: "Shop",
			Events: []client.WebhookEvent{client.EventOrderOutcome, client.EventUpdatePhotos},
		})
		noError(t, err)
		name := "Shop"
		equal(t, "endpoint", got, &client.CreatedWebhook{
			Webhook: client.Webhook{
				ID: "w1", APIKeyID: "k1", Name: &name, URL: "https://shop.example/hook",
				Events:    []client.WebhookEvent{client.EventOrderOutcome, client.EventUpdatePhotos},
				CreatedAt: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
			},
			SigningSecret: secret,
		})
		r := s.only()
		equal(t, "method", r.Method, "POST")
		equal(t, "URI", r.URI, "/v1/integrations/webhooks")
		equal(t, "body", r.Body,
			`{"url":"https://shop.example/hook","events":["order-outcome","update-photos"],"name":"Shop"}`)
	})
	t.Run("OAuth2", func(t *testing.T) {
		s := newService(t, answer(201, `{"id":"w1","api_key_id":"k1","name":null,"url":"https://shop.example/hook",
			"events":["order-outcome"],"created_at":"2026-03-01T10:00:00.000Z",
			"auth":{"type":"oauth2","token_url":"https://id.example/token","client_id":"assay","scope":null}}`))
		got, err := s.client().CreateWebhook(t.Context(), client.CreateWebhook{
			URL: "https://shop.example/hook", Events: []client.WebhookEvent{client.EventOrderOutcome},
			Auth: &client.OAuth2{TokenURL: "https://id.example/token", ClientID: "assay", ClientSecret: "s3cret", Scope: "a b"},
		})
		noError(t, err)
		equal(t, "secret", got.SigningSecret, "")
		equal(t, "auth", got.Auth, &client.WebhookAuth{
			Type: client.AuthOAuth2, TokenURL: "https://id.example/token", ClientID: "assay",
		})
		var body map[string]any
		noError(t, json.Unmarshal([]byte(s.only().Body), &body))
		equal(t, "body", body, map[string]any{
			"url": "https://shop.example/hook", "events": []any{"order-outcome"},
			"auth": map[string]any{
				"type": "oauth2", "token_url": "https://id.example/token", "client_id": "assay",
				"client_secret": "s3cret", "scope": "a b",
			},
		})
	})
	t.Run("ScopeIsOptional", func(t *testing.T) {
		s := newService(t, answer(201, `{"id":"w1"}`))
		_, err := s.client().CreateWebhook(t.Context(), client.CreateWebhook{Auth: &client.OAuth2{}})
		noError(t, err)
		equal(t, "has scope", strings.Contains(s.only().Body, "scope"), false)
	})
}

func TestListWebhooks(t *testing.T) {
	s := newService(t, answer(200,
		`{"data":[{"id":"w2","url":"https://b.example"},{"id":"w1","url":"https://a.example"}]}`))
	got, err := s.client().ListWebhooks(t.Context())
	noError(t, err)
	equal(t, "endpoints", len(got), 2)
	equal(t, "first", got[0].ID, "w2")
	equal(t, "URI", s.only().URI, "/v1/integrations/webhooks")
}

func TestDeleteWebhook(t *testing.T) {
	t.Run("Deleted", func(t *testing.T) {
		s := newService(t, answer(204, ""))
		noError(t, s.client().DeleteWebhook(t.Context(), "w/1"))
		r := s.only()
		equal(t, "request", r.Method+" "+r.URI, "DELETE /v1/integrations/webhooks/w%2F1")
		equal(t, "body", r.Body, "")
	})
	t.Run("AlreadyDeleted", func(t *testing.T) {
		s := newService(t, answer(404, `{"code":"not-found"}`))
		err := s.client().DeleteWebhook(t.Context(), "w1")
		equal(t, "is not-found", client.IsCode(err, client.CodeNotFound), true)
	})
	t.Run("NoID", func(t *testing.T) {
		if newService(t).client().DeleteWebhook(t.Context(), "") == nil {
			t.Error("no error")
		}
	})
}
