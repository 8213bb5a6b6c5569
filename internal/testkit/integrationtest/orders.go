package integrationtest

import (
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
)

// Bag returns a body that creates an order for a bag: with all required photos, and with mock_outcome authentic for a
// Test key. Changes replace properties; nil removes one.
func (c *Client) Bag(t testing.TB, changes ...M) M {
	t.Helper()
	urls := c.Photos(t, 2)
	body := M{
		"brand_code": "chanel", "category_code": "bags",
		"photos": []any{M{"url": urls[0], "index_code": "overall"}, M{"url": urls[1], "index_code": "serial"}},
	}
	if c.Key.Environment == access.Test {
		body["mock_outcome"] = "authentic"
	}
	return With(body, changes...)
}

// With returns a copy of the body with changes; nil removes a property.
func With(body M, changes ...M) M {
	out := make(M, len(body))
	for name, value := range body {
		out[name] = value
	}
	for _, change := range changes {
		for name, value := range change {
			if value == nil {
				delete(out, name)
			} else {
				out[name] = value
			}
		}
	}
	return out
}

// Create creates an order for a bag and returns the answer.
func (c *Client) Create(t testing.TB, changes ...M) *Response {
	t.Helper()
	return c.Post(t, "/orders", c.Bag(t, changes...)).Want(t, http.StatusCreated)
}

// CreateID is Create for tests that need only the id.
func (c *Client) CreateID(t testing.TB, changes ...M) string {
	t.Helper()
	return c.Create(t, changes...).Text(t, "id")
}

// Order returns the order as the database has it.
func (w *World) Order(t testing.TB, id string) *order.Order {
	t.Helper()
	o, err := w.Store.Order(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}
