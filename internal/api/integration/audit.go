package integration

import (
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
)

const auditLimit, maxAuditLimit = 50, 100

type auditView struct {
	ID            string           `json:"id"`
	AccountUserID string           `json:"account_user_id"`
	OccurredAt    wire.Timestamp   `json:"occurred_at"`
	EventCode     audit.Code       `json:"event_code"`
	ActorType     audit.ActorType  `json:"actor_type"`
	ActorID       *string          `json:"actor_id"`
	ActorName     string           `json:"actor_name"`
	Source        audit.Source     `json:"source"`
	TargetType    audit.TargetType `json:"target_type"`
	TargetID      *string          `json:"target_id"`
	IPAddress     *string          `json:"ip_address"`
	UserAgent     *string          `json:"user_agent"`
	Metadata      map[string]any   `json:"metadata"`
}

func viewAudit(e *audit.Event) auditView {
	return auditView{
		ID: e.ID, AccountUserID: e.UserID, OccurredAt: wire.Timestamp(e.At), EventCode: e.Code, ActorType: e.Actor.Type,
		ActorID: optional(e.Actor.ID), ActorName: e.Actor.Name, Source: e.Actor.Source, TargetType: e.Target.Type,
		TargetID: optional(e.Target.ID), IPAddress: optional(e.Actor.IP), UserAgent: optional(e.Actor.UserAgent),
		Metadata: e.Metadata,
	}
}

func (a *API) listAuditEvents(w http.ResponseWriter, r *http.Request, c *call) error {
	q := input.ReadQuery(r)
	from, to := q.Time("from"), q.Time("to")
	f := audit.Filter{
		From: given(q, "from", from), To: given(q, "to", to),
		Code:      input.Enum(q, "event_code", audit.Codes...),
		ActorType: input.Enum(q, "actor_type", audit.ActorTypes...), ActorID: q.UUID("actor_id"),
		Source:     input.Enum(q, "source", audit.Sources...),
		TargetType: input.Enum(q, "target_type", audit.TargetTypes...), TargetID: q.UUID("target_id"),
	}
	page, limit := q.Page(auditLimit, maxAuditLimit)
	if err := q.Done(); err != nil {
		return err
	}
	if f.From != nil && f.To != nil && from.After(to) {
		return fault.New(fault.Invalid, "invalid-audit-date-range", "from must not be later than to.").
			With("from", wire.Timestamp(from)).With("to", wire.Timestamp(to))
	}
	events, total, err := a.Service.AuditPage(r.Context(), c.actor(r), f, page, limit)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK,
		httpx.Page[auditView]{Data: views(events, viewAudit), Page: page, Limit: limit, Total: total})
}

// given returns the time of a parameter that is there. The zero time is a time like any other: 0001-01-01T00:00:00Z.
func given(q *input.Query, name string, t time.Time) *time.Time {
	if !q.Has(name) {
		return nil
	}
	return &t
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
