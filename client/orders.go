package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"net/http"
	"time"
)

const maxOrdersLimit = 50

// CreateOrderOption changes how an order is created.
type CreateOrderOption func(*createOrderSettings)

type createOrderSettings struct {
	idempotent     bool
	idempotencyKey string
}

// WithIdempotencyKey makes the creation safe to repeat: within 24 hours, the same key with the same order returns the
// first answer, with [CreatedOrder.Replayed] set, and charges nothing. The client then repeats failed attempts as its
// retry policy says. The key has at most 255 characters; store it with your record before the call, so that it is
// also known after a crash. [NewIdempotencyKey] makes one.
func WithIdempotencyKey(key string) CreateOrderOption {
	return func(s *createOrderSettings) {
		s.idempotent = true
		s.idempotencyKey = key
	}
}

// NewIdempotencyKey returns a random key for [WithIdempotencyKey].
func NewIdempotencyKey() string { return rand.Text() }

// CreateOrder creates an order and charges its price.
//
// Without an idempotency key the request is sent once. When it fails and [IsAmbiguous] is true, the order may exist:
// look for it by its external id with [Client.GetOrder] before sending it again.
func (c *Client) CreateOrder(ctx context.Context, order CreateOrder, opts ...CreateOrderOption) (*CreatedOrder, error) {
	var settings createOrderSettings
	for _, opt := range opts {
		opt(&settings)
	}
	if settings.idempotent && (settings.idempotencyKey == "" || !validHeaderValue(settings.idempotencyKey)) {
		return nil, errors.New("assay: the idempotency key is empty or not a valid header value")
	}
	r := request{method: http.MethodPost, path: "/orders", json: order}
	if settings.idempotent {
		r.header = map[string]string{"Idempotency-Key": settings.idempotencyKey}
		r.repeatable = true
	}
	var created CreatedOrder
	header, err := c.do(ctx, r, &created)
	if err != nil {
		return nil, err
	}
	created.Replayed = header.Get("Idempotency-Replayed") == "true"
	return &created, nil
}

// OrdersQuery selects a page of orders. Zero fields are not sent; all that are must match.
type OrdersQuery struct {
	Status       OrderStatus
	Outcome      Outcome
	ExternalID   string    // exactly
	CreatedSince time.Time // inclusive
	UpdatedSince time.Time // inclusive

	// ByUpdate lists those that changed last at the end instead of the newest first. To follow changes, ask from a
	// minute before the UpdatedAt of the last order that was seen: a change that was written at the same time as
	// others can appear after them, and some orders come again.
	ByUpdate bool

	Page  int // from 1
	Limit int // 1 to 50; 10 by default
}

func (q *OrdersQuery) params() params {
	sort := ""
	if q.ByUpdate {
		sort = "updated"
	}
	return textParams("status", string(q.Status), "outcome", string(q.Outcome), "external_id", q.ExternalID,
		"created_since", timestamp(q.CreatedSince), "updated_since", timestamp(q.UpdatedSince), "sort", sort).
		page(q.Page, q.Limit)
}

// grows reports whether orders are only ever added to the list, and at the front.
func (q *OrdersQuery) grows() bool {
	return q.Status == "" && q.Outcome == "" && q.UpdatedSince.IsZero() && !q.ByUpdate
}

// ListOrders returns one page of the orders of the account in the environment of the API key, newest first.
// [Client.AllOrders] goes through all pages.
func (c *Client) ListOrders(ctx context.Context, q OrdersQuery) (*Page[OrderListItem], error) {
	return read[Page[OrderListItem]](ctx, c, "/orders", q.params())
}

// AllOrders goes through the orders from page q.Page on, newest first, page by page; without q.Limit it uses the
// largest pages. Orders created meanwhile are not seen, and none is seen twice on their account. An error is yielded
// once, with a zero OrderListItem, and ends the iteration.
//
// With q.ByUpdate it goes on by UpdatedAt, not by page numbers: an order that changes meanwhile moves to the end of the
// list and is seen again there, and the others are all seen, unless more changed in one moment than fit on a page.
// Without it, orders that leave a q.Status or a q.Outcome meanwhile can hide others.
func (c *Client) AllOrders(ctx context.Context, q OrdersQuery) iter.Seq2[OrderListItem, error] {
	order := newestFirst
	if !q.grows() {
		order = anyOrder
	}
	q.Limit = cmp.Or(q.Limit, maxOrdersLimit)
	if q.ByUpdate {
		return allByUpdate(q, func(q OrdersQuery) (*Page[OrderListItem], error) { return c.ListOrders(ctx, q) })
	}
	return all(q.Page, order, func(page int) (*Page[OrderListItem], error) {
		q.Page = page
		return c.ListOrders(ctx, q)
	})
}

// GetOrder returns the current state of an order. The identifier is the order's id or its external id, in plain form:
// the client escapes it. Of several orders with one external id, the newest is returned. A [Locale] is an option.
func (c *Client) GetOrder(ctx context.Context, idOrExternalID string, opts ...ReadOption) (*OrderDetail, error) {
	path, err := orders.item(idOrExternalID)
	if err != nil {
		return nil, err
	}
	return read[OrderDetail](ctx, c, path, readParams(opts))
}

// CanceledOrder is the answer to a cancellation.
type CanceledOrder struct {
	ID     string      `json:"id"`
	Status OrderStatus `json:"status"` // completed, with the outcome canceled
}

func (o *CanceledOrder) missing() string { return firstMissing("id", o.ID, "status", string(o.Status)) }

// CancelOrder ends an order that is still queued, and gives its price back. Otherwise, also when it is canceled
// already, the error has [CodeOrderNotCancelable]; see [Error.OrderStatus]. The request is sent once; after an
// ambiguous failure it can be repeated.
func (c *Client) CancelOrder(ctx context.Context, idOrExternalID string) (*CanceledOrder, error) {
	return sendTo[CanceledOrder](ctx, c, orders, idOrExternalID, "/cancel", struct{}{})
}

// SimulatedState is a state that a Test order can be put into: a status or, for a completed order, its outcome.
type SimulatedState string

// The states of Test orders.
const (
	SimulatedQueued         SimulatedState = "queued"
	SimulatedProcessing     SimulatedState = "processing"
	SimulatedUpdatePhotos   SimulatedState = "update-photos"
	SimulatedAuthentic      SimulatedState = "authentic"
	SimulatedFake           SimulatedState = "fake"
	SimulatedUnableToVerify SimulatedState = "unable-to-verify"
	SimulatedCanceled       SimulatedState = "canceled"
	SimulatedError          SimulatedState = "error"
)

// SimulatedStates are all of them, in the order of an order's life.
var SimulatedStates = []SimulatedState{
	SimulatedQueued, SimulatedProcessing, SimulatedUpdatePhotos, SimulatedAuthentic, SimulatedFake,
	SimulatedUnableToVerify, SimulatedCanceled, SimulatedError,
}

// SimulatedOrder is the answer to a simulation.
type SimulatedOrder struct {
	ID     string      `json:"id"`
	Status OrderStatus `json:"status"` // completed for an outcome, otherwise the state
}

func (o *SimulatedOrder) missing() string {
	return firstMissing("id", o.ID, "status", string(o.Status))
}

// SimulateOrder puts a Test order into a state, whatever its state is, and sends the event that belongs to it. With a
// Live key the error has [CodeNotATestOrder]. The request is sent once; when it is repeated, so is the event.
func (c *Client) SimulateOrder(
	ctx context.Context, idOrExternalID string, state SimulatedState,
) (*SimulatedOrder, error) {
	return sendTo[SimulatedOrder](ctx, c, orders, idOrExternalID, "/simulate", map[string]SimulatedState{"state": state})
}

// QuoteRequest is an item to ask the price of. Zero optional fields are not sent.
type QuoteRequest struct {
	CategoryCode string `json:"category_code"`
	BrandCode    string `json:"brand_code"`
	ModelCode    string `json:"model_code,omitempty"`  // optional
	AnswerTime   int    `json:"answer_time,omitempty"` // optional; otherwise what a creation would choose
}

// Quote is what an order would choose and cost now.
type Quote struct {
	AnswerTimes  []AnswerTime `json:"answer_times"`
	PhotoIndexes []PhotoIndex `json:"photo_indexes"`
	AnswerTime   *int         `json:"answer_time"` // nil, like Price and DueDate, when none is available
	Price        *int64       `json:"price"`
	Affordable   bool         `json:"affordable"` // the balance covers the price
	DueDate      *time.Time   `json:"due_date"`
}

func (q *Quote) missing() string { return missingData(q.AnswerTimes) }

// GetQuote tells what an order would choose and cost now, and which photos it takes. It creates and charges nothing, so
// that failed attempts are repeated as the retry policy says. A [Locale] is an option.
func (c *Client) GetQuote(ctx context.Context, item QuoteRequest, opts ...ReadOption) (*Quote, error) {
	r := request{method: http.MethodPost, path: "/quote", query: readParams(opts), json: item, repeatable: true}
	return answerTo[Quote](ctx, c, r)
}
