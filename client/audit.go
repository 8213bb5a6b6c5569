package client

import (
	"cmp"
	"context"
	"iter"
	"time"
)

const maxAuditLimit = 100

// AuditEventCode is the kind of an audit event.
type AuditEventCode string

// Audit events.
const (
	AuditLoginSucceeded  AuditEventCode = "auth.login.succeeded"
	AuditLoginFailed     AuditEventCode = "auth.login.failed"
	AuditPasswordChanged AuditEventCode = "auth.password.changed"
	AuditEmailChanged    AuditEventCode = "auth.email.changed"
	AuditAPIKeyCreated   AuditEventCode = "api-key.created"
	AuditAPIKeyRenamed   AuditEventCode = "api-key.renamed"
	AuditAPIKeyRevoked   AuditEventCode = "api-key.revoked"
	AuditWebhookCreated  AuditEventCode = "webhook.created"
)

// AuditActorType is the kind of an actor.
type AuditActorType string

// Kinds of actors.
const (
	ActorUser   AuditActorType = "user"
	ActorAPIKey AuditActorType = "api-key"
	ActorSystem AuditActorType = "system"
)

// AuditSource is the interface through which an action was performed.
type AuditSource string

// Sources.
const (
	SourcePortalWeb      AuditSource = "portal-web"
	SourceMobile         AuditSource = "mobile"
	SourceIntegrationAPI AuditSource = "integration-api"
	SourceSystem         AuditSource = "system"
)

// AuditTargetType is the kind of a target.
type AuditTargetType string

// Kinds of targets.
const (
	TargetUser            AuditTargetType = "user"
	TargetOrder           AuditTargetType = "order"
	TargetAPIKey          AuditTargetType = "api-key"
	TargetWebhook         AuditTargetType = "webhook"
	TargetWebhookDelivery AuditTargetType = "webhook-delivery"
)

// AuditEvent is one entry of the account's audit log.
type AuditEvent struct {
	ID            string          `json:"id"`
	AccountUserID string          `json:"account_user_id"` // the account user concerned
	OccurredAt    time.Time       `json:"occurred_at"`
	EventCode     AuditEventCode  `json:"event_code"`
	ActorType     AuditActorType  `json:"actor_type"`
	ActorID       *string         `json:"actor_id"`
	ActorName     string          `json:"actor_name"`
	Source        AuditSource     `json:"source"`
	TargetType    AuditTargetType `json:"target_type"`
	TargetID      *string         `json:"target_id"`
	IPAddress     *string         `json:"ip_address"`
	UserAgent     *string         `json:"user_agent"`
	Metadata      map[string]any  `json:"metadata"` // depends on the event; no secrets
}

// AuditQuery selects audit events. Zero fields are not sent.
type AuditQuery struct {
	From time.Time // inclusive
	To   time.Time // exclusive

	EventCode  AuditEventCode
	ActorType  AuditActorType
	ActorID    string
	Source     AuditSource
	TargetType AuditTargetType
	TargetID   string

	Page  int // from 1
	Limit int // 1 to 100; 50 by default
}

// ListAuditEvents returns one page of the account's audit log, newest first. The API key needs the scope audit:read.
// [Client.AllAuditEvents] goes through all pages.
func (c *Client) ListAuditEvents(ctx context.Context, q AuditQuery) (*Page[AuditEvent], error) {
	query := textParams("from", timestamp(q.From), "to", timestamp(q.To), "event_code", string(q.EventCode),
		"actor_type", string(q.ActorType), "actor_id", q.ActorID, "source", string(q.Source),
		"target_type", string(q.TargetType), "target_id", q.TargetID).page(q.Page, q.Limit)
	return read[Page[AuditEvent]](ctx, c, "/audit/events", query)
}

// AllAuditEvents goes through the audit log from page q.Page on, newest first, page by page; without q.Limit it uses
// the largest pages. Events added meanwhile are not seen, and none is seen twice on their account. An error is yielded
// once, with a zero AuditEvent, and ends the iteration.
func (c *Client) AllAuditEvents(ctx context.Context, q AuditQuery) iter.Seq2[AuditEvent, error] {
	q.Limit = cmp.Or(q.Limit, maxAuditLimit)
	return all(q.Page, newestFirst, func(page int) (*Page[AuditEvent], error) {
		q.Page = page
		return c.ListAuditEvents(ctx, q)
	})
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
