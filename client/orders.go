package client

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"net/http"
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
	body, err := encode(order)
	if err != nil {
		return nil, err
	}
	r := request{method: http.MethodPost, path: "/orders", body: body, contentType: contentTypeJSON}
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

// OrdersQuery selects a page of orders. Zero fields are not sent.
type OrdersQuery struct {
	Page  int // from 1
	Limit int // 1 to 50; 10 by default
}

// ListOrders returns one page of the orders of the account in the environment of the API key, newest first.
// [Client.AllOrders] goes through all pages.
func (c *Client) ListOrders(ctx context.Context, q OrdersQuery) (*Page[OrderListItem], error) {
	return getPage[OrderListItem](ctx, c, "/orders", params{}.page(q.Page, q.Limit))
}

// AllOrders goes through the orders from page q.Page on, newest first, page by page; without q.Limit it uses the
// largest pages. Orders created meanwhile are not seen, and none is seen twice on their account. An error is yielded
// once, with a zero OrderListItem, and ends the iteration.
func (c *Client) AllOrders(ctx context.Context, q OrdersQuery) iter.Seq2[OrderListItem, error] {
	q.Limit = limitOr(q.Limit, maxOrdersLimit)
	return all(q.Page, newestFirst, func(page int) (*Page[OrderListItem], error) {
		q.Page = page
		return c.ListOrders(ctx, q)
	})
}

// GetOrder returns the current state of an order. The identifier is the order's id or its external id, in plain form:
// the client escapes it. Of several orders with one external id, the newest is returned. An empty locale is English.
func (c *Client) GetOrder(ctx context.Context, idOrExternalID string, locale Locale) (*OrderDetail, error) {
	path, err := orderPath(idOrExternalID)
	if err != nil {
		return nil, err
	}
	query := textParams("locale", string(locale))
	var order OrderDetail
	if err := c.get(ctx, path, query, &order); err != nil {
		return nil, err
	}
	return &order, nil
}

func orderPath(idOrExternalID string) (string, error) {
	segment, err := pathSegment("order identifier", idOrExternalID)
	if err != nil {
		return "", err
	}
	return "/orders/" + segment, nil
}
