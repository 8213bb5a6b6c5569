package integrationtest

import (
	"net/http"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/store"
)

// Bag returns a body that creates an order for a bag: with all required photos, and with mock_outcome authentic for a Test
// key. Changes replace properties; nil removes one.
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

// Move moves an order as the desk would, without what the use cases add to it: no timeline, no refund, no events.
func (w *World) Move(t testing.TB, id string, moves ...func(o *order.Order) error) {
	t.Helper()
	err := w.Store.Update(t.Context(), func(tx *store.Tx) error {
		o, err := tx.OrderForUpdate(id)
		if err != nil {
			return err
		}
		for _, move := range moves {
			if err := move(o); err != nil {
				return err
			}
		}
		return tx.UpdateOrder(o)
	})
	if err != nil {
		t.Fatalf("move the order: %v", err)
	}
}

// Apply is a move for Move.
func (w *World) Apply(move order.Move) func(*order.Order) error {
	return func(o *order.Order) error { return o.Apply(move, w.Clock.Now()) }
}

// RequestPhotos brings a Live order to update-photos with requests for the indexes overall (at most 2) and serial (1).
func (w *World) RequestPhotos(t testing.TB, id string) {
	t.Helper()
	w.Move(t, id, w.Apply(order.Claim), w.Apply(order.RequestPhotos), func(o *order.Order) error {
		o.Facts.Requested = Requested()
		return nil
	})
}

// Requested is a photo request for two indexes: overall, with everything a request can say, and serial, with nothing.
func Requested() []order.PhotoRequest {
	return []order.PhotoRequest{
		{
			IndexCode: "overall", Name: text.Text{EN: "Overall picture", JA: "全体写真"}, MaxPhotos: 2,
			Condition:    &order.CodedText{Code: "unclear", Text: text.Text{EN: "Unclear", JA: "不鮮明です"}},
			Requirements: []order.CodedText{{Code: "sharp-focus", Text: text.Text{EN: "Sharp focus", JA: "ピントを合わせてください"}}, {Code: "no-glare", Text: text.Text{EN: "No glare"}}},
			Comment:      "Please use daylight.", ReferencePhotoURL: "https://cdn.example/examples/overall.jpg",
		},
		{IndexCode: "serial", Name: text.Text{EN: "Serial number"}, MaxPhotos: 1},
	}
}
