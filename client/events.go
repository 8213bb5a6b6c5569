package client

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"time"
)

const maxEventsLimit = 100

// Event is what happened to an order of this API key, whether or not a webhook was told of it.
type Event struct {
	Cursor      string          `json:"cursor"`
	Event       WebhookEvent    `json:"webhook_event"`
	DeliveryIDs []string        `json:"delivery_ids"` // of the deliveries to webhooks
	CreatedAt   time.Time       `json:"created_at"`
	Body        WebhookDelivery `json:"-"`    // without a delivery id
	RawBody     json.RawMessage `json:"body"` // as it was sent, without a delivery id
}

// UnmarshalJSON reads the form of the API.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event
	if err := json.Unmarshal(text, (*plain)(e)); err != nil {
		return err
	}
	return json.Unmarshal(e.RawBody, &e.Body)
}

// EventList is the next events, and where to go on.
type EventList struct {
	Data       []Event `json:"data"`
	NextCursor string  `json:"next_cursor"` // the next [EventsQuery.After]
}

func (l *EventList) missing() string {
	if l.Data == nil {
		return "data"
	}
	return firstMissing("next_cursor", l.NextCursor)
}

// EventsQuery selects events. Zero fields are not sent.
type EventsQuery struct {
	After string // a cursor; empty: from the oldest event that is kept
	Limit int    // 1 to 100; 50 by default
}

// ListEvents returns the next events of the orders created with this API key, oldest first. Events are kept for 30
// days; when some after the cursor are gone, the error has [CodeCursorExpired]; see [Error.OldestCursor].
func (c *Client) ListEvents(ctx context.Context, q EventsQuery) (*EventList, error) {
	return read[EventList](ctx, c, "/events", textParams("after", q.After).page(0, q.Limit))
}

// AllEvents goes through the events after q.After until there are no more at the moment. Keep the cursor of the last
// one that was processed: it is where to go on later. An error is yielded once, with a zero Event, and ends the
// iteration.
func (c *Client) AllEvents(ctx context.Context, q EventsQuery) iter.Seq2[Event, error] {
	q.Limit = cmp.Or(q.Limit, maxEventsLimit)
	return func(yield func(Event, error) bool) {
		for {
			events, err := c.ListEvents(ctx, q)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for i := range events.Data {
				if !yield(events.Data[i], nil) {
					return
				}
			}
			if len(events.Data) == 0 {
				return
			}
			q.After = events.NextCursor
		}
	}
}
