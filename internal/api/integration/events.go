package integration

import (
	"encoding/json"
	"net/http"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
)

const eventLimit, maxEventLimit = 50, 100

type eventView struct {
	Cursor       string          `json:"cursor"`
	WebhookEvent webhook.Event   `json:"webhook_event"`
	DeliveryIDs  []string        `json:"delivery_ids"`
	CreatedAt    wire.Timestamp  `json:"created_at"`
	Body         json.RawMessage `json:"body"`
}

func viewEvent(e *webhook.OrderEvent) eventView {
	return eventView{
		Cursor: e.Position.String(), WebhookEvent: e.Event, DeliveryIDs: append([]string{}, e.DeliveryIDs...),
		CreatedAt: wire.Timestamp(e.CreatedAt), Body: e.Body,
	}
}

// listEvents tells what happened to the orders of a key, from a cursor on.
func (a *API) listEvents(w http.ResponseWriter, r *http.Request, c *call) error {
	q := input.ReadQuery(r)
	var after *webhook.Cursor
	if text := q.Code("after"); text != "" {
		cursor, ok := webhook.ParseCursor(text)
		if !ok {
			q.Problem("after", input.CodeFormat, "must be the cursor of an event")
		}
		after = &cursor
	}
	limit := q.Int("limit", eventLimit, 1, maxEventLimit)
	if err := q.Done(); err != nil {
		return err
	}
	events, next, err := a.Service.Events(r.Context(), c.actor(r), after, limit)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusOK, struct {
		Data       []eventView `json:"data"`
		NextCursor string      `json:"next_cursor"`
	}{views(events, viewEvent), next.String()})
}
