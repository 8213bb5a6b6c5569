package integrationtest

import (
	"testing"

	"github.com/assayhq/assay/internal/testkit/rawsql"
)

// Delivery is a row of the outbox.
type Delivery struct {
	ID         string
	EndpointID string
	Event      string
	Status     string
	Body       string
}

// Deliveries returns what the outbox holds about an order, oldest first. Every body is held against the OpenAPI document.
func (w *World) Deliveries(t testing.TB, orderID string) []Delivery {
	t.Helper()
	var list []Delivery
	for _, row := range rawsql.Rows(t, w.Target, "SELECT id, endpoint_id, event, status, body FROM deliveries WHERE order_id = $1 ORDER BY id", orderID) {
		list = append(list, Delivery{ID: row[0], EndpointID: row[1], Event: row[2], Status: row[3], Body: row[4]})
	}
	for _, d := range list {
		w.validator.For(t).Delivery(d.Event, []byte(d.Body))
	}
	return list
}
