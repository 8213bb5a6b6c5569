package desk

import (
	"context"
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
	"github.com/assayhq/assay/internal/service"
)

const orderLimit, maxOrderLimit = 50, 100

// listOrders shows orders of every status unless one is asked for.
func (a *API) listOrders(w http.ResponseWriter, r *http.Request, c *call) error {
	q := input.ReadQuery(r)
	l := q.Locale()
	f := order.Filter{Sort: order.DueFirst, Environment: access.Live}
	if status := input.Enum(q, "status", order.Statuses...); status != "" {
		f.Statuses = []order.Status{status}
	}
	if env := input.Enum(q, "environment", access.Environments...); env != "" {
		f.Environment = env
	}
	if input.Enum(q, "assignee", "me") != "" {
		f.AssigneeID = c.actor.ID
	}
	page, limit := q.Page(orderLimit, maxOrderLimit)
	if err := q.Done(); err != nil {
		return err
	}
	orders, total, err := a.Service.OrderPage(r.Context(), c.actor, f, page, limit)
	if err != nil {
		return err
	}
	view := httpx.Page[itemView]{Data: make([]itemView, len(orders)), Page: page, Limit: limit, Total: total}
	for i := range orders {
		view.Data[i] = a.viewItem(&orders[i], l)
	}
	return httpx.WriteJSON(w, http.StatusOK, &view)
}

func (a *API) takeNext(w http.ResponseWriter, r *http.Request, c *call) error {
	l, err := locale(r)
	if err != nil {
		return err
	}
	o, err := a.Service.TakeNextOrder(r.Context(), c.actor, order.QueueFilter{})
	if err != nil {
		return err
	}
	if o == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return a.answer(w, o, l)
}

// operation is what is done with one order.
type operation = func(r *http.Request, c *call) (*service.OrderRecord, error)

// onOrder answers an operation on one order with that order, in the language that the query asks for.
func (a *API) onOrder(do operation) handler {
	return func(w http.ResponseWriter, r *http.Request, c *call) error {
		l, err := locale(r)
		if err != nil {
			return err
		}
		o, err := do(r, c)
		if err != nil {
			return err
		}
		return a.answer(w, o, l)
	}
}

// withoutBody is an operation that takes no body: one that is sent is not read.
func withoutBody(do func(ctx context.Context, actor access.Actor, id string) (*service.OrderRecord, error)) operation {
	return func(r *http.Request, c *call) (*service.OrderRecord, error) { return do(r.Context(), c.actor, c.id) }
}

// withBody is an operation that takes what is read from the body, for who may still do it then.
func withBody[T any](a *API, read func(*http.Request) (T, error),
	do func(ctx context.Context, actor access.Actor, id string, sent T) (*service.OrderRecord, error),
) operation {
	return func(r *http.Request, c *call) (*service.OrderRecord, error) {
		sent, err := read(r)
		if err == nil {
			err = a.again(r, c)
		}
		if err != nil {
			return nil, err
		}
		return do(r.Context(), c.actor, c.id, sent)
	}
}

func (a *API) complete(
	ctx context.Context, actor access.Actor, id string, v sentVerdict,
) (*service.OrderRecord, error) {
	return a.Service.CompleteOrder(ctx, actor, id, v.Verdict, v.note)
}

func (a *API) cancel(ctx context.Context, actor access.Actor, id, note string) (*service.OrderRecord, error) {
	if _, err := a.Service.CancelOrder(ctx, actor, id, note); err != nil {
		return nil, err
	}
	return a.Service.OrderForReview(ctx, actor, id)
}

func locale(r *http.Request) (text.Locale, error) {
	q := input.ReadQuery(r)
	return q.Locale(), q.Done()
}
