package client_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

func TestAuditEvents(t *testing.T) {
	s := newService(t, answer(200, `{"data":[{"id":"e1","account_user_id":"u1","occurred_at":"2026-03-01T10:00:00.000Z",
		"event_code":"webhook.created","actor_type":"api-key","actor_id":"k1","actor_name":"Shop key",
		"source":"integration-api",
		"target_type":"webhook","target_id":"w1","ip_address":"192.0.2.1","user_agent":null,
		"metadata":{"name":"Shop","events":["order-outcome"],"auth_type":"hmac","environment":"test"}}],
		"page":1,"limit":5,"total":1}`))
	got, err := s.client().ListAuditEvents(t.Context(), client.AuditQuery{
		From:      time.Date(2026, 3, 1, 9, 0, 0, 0, time.FixedZone("JST", 9*3600)),
		To:        time.Date(2026, 3, 2, 0, 0, 0, 1_500_000, time.UTC),
		EventCode: client.AuditWebhookCreated, ActorType: client.ActorAPIKey, ActorID: "k1",
		Source: client.SourceIntegrationAPI, TargetType: client.TargetWebhook, TargetID: "w1", Page: 1, Limit: 5,
	})
	noError(t, err)
	r := s.only()
	equal(t, "method", r.Method, "GET")
	uri, err := url.Parse(r.URI)
	noError(t, err)
	equal(t, "path", uri.Path, "/v1/integrations/audit/events")
	equal(t, "query", uri.Query(), url.Values{
		"from": {"2026-03-01T00:00:00Z"}, "to": {"2026-03-02T00:00:00.0015Z"},
		"event_code": {"webhook.created"}, "actor_type": {"api-key"}, "actor_id": {"k1"},
		"source": {"integration-api"}, "target_type": {"webhook"}, "target_id": {"w1"}, "page": {"1"}, "limit": {"5"},
	})
	actor, target, address := "k1", "w1", "192.0.2.1"
	equal(t, "events", got.Data, []client.AuditEvent{{
		ID: "e1", AccountUserID: "u1", OccurredAt: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
		EventCode: client.AuditWebhookCreated, ActorType: client.ActorAPIKey, ActorID: &actor, ActorName: "Shop key",
		Source: client.SourceIntegrationAPI, TargetType: client.TargetWebhook, TargetID: &target, IPAddress: &address,
		Metadata: map[string]any{
			"name": "Shop", "events": []any{"order-outcome"}, "auth_type": "hmac", "environment": "test",
		},
	}})
}

func TestAuditEventsWithoutFilters(t *testing.T) {
	s := newService(t, answer(200, `{"data":[],"page":1,"limit":50,"total":0}`))
	_, err := s.client().ListAuditEvents(t.Context(), client.AuditQuery{})
	noError(t, err)
	equal(t, "URI", s.only().URI, "/v1/integrations/audit/events")
}
