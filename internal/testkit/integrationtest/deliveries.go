package integrationtest

import (
	"slices"
	"testing"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/testkit/must"
)

// Delivery is what the outbox holds of one event for one endpoint.
type Delivery struct {
	ID         string
	EndpointID string
	Event      string
	Status     string
	Body       string
}

// Deliveries returns what the outbox holds about an order, oldest first. Every body is checked against the OpenAPI
// document.
func (w *World) Deliveries(t testing.TB, orderID string) []Delivery {
	t.Helper()
	records, err := w.Store.Deliveries(t.Context(), webhook.DeliveryFilter{OrderID: orderID}, 100)
	must.NoError(t, err)
	slices.Reverse(records)
	list := make([]Delivery, len(records))
	for i, r := range records {
		whole, err := w.Store.Delivery(t.Context(), r.ID)
		must.NoError(t, err)
		list[i] = Delivery{
			ID: r.ID, EndpointID: r.EndpointID, Event: string(r.Event), Status: string(r.Status), Body: string(whole.Body),
		}
		w.validator.For(t).Delivery(list[i].Event, whole.Body)
	}
	return list
}
