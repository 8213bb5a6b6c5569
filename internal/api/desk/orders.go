package desk

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/service"
)

const orderLimit, maxOrderLimit = 50, 100

// listOrders shows orders of every status unless one is asked for.
func (a *API) listOrders(w http.ResponseWriter, r *http.Request, c *call) error {
	q := httpx.ReadQuery(r)
	l := q.Locale()
	f := order.Filter{Sort: order.DueFirst, Environment: access.Live}
	if status := httpx.Enum(q, "status", order.Statuses...); status != "" {
		f.Statuses = []order.Status{status}
	}
	if env := httpx.Enum(q, "environment", access.Environments...); env != "" {
		f.Environment = env
	}
	if httpx.Enum(q, "assignee", "me") != "" {
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
	o, err := a.Service.TakeNextOrder(r.Context(), c.actor, order.Part{})
	if err != nil {
		return err
	}
	if o == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return a.answer(w, o, l)
}

func (a *API) getOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.OrderRecord, error) {
		return a.Service.OrderForReview(r.Context(), c.actor, c.id)
	})
}

// claimOrder and releaseOrder take no body: one that is sent is not read.
func (a *API) claimOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.OrderRecord, error) {
		return a.Service.ClaimOrder(r.Context(), c.actor, c.id)
	})
}

func (a *API) releaseOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.OrderRecord, error) {
		return a.Service.ReleaseOrder(r.Context(), c.actor, c.id)
	})
}

func (a *API) requestPhotos(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.OrderRecord, error) {
		drafts, err := readRequest(r)
		if err != nil {
			return nil, err
		}
		return a.Service.RequestPhotos(r.Context(), c.actor, c.id, drafts)
	})
}

func (a *API) completeOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.OrderRecord, error) {
		verdict, note, err := readVerdict(r)
		if err != nil {
			return nil, err
		}
		return a.Service.CompleteOrder(r.Context(), c.actor, c.id, verdict, note)
	})
}

func (a *API) failOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrderWithNote(w, r, func(note string) (*service.OrderRecord, error) {
		return a.Service.FailOrder(r.Context(), c.actor, c.id, note)
	})
}

func (a *API) cancelOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrderWithNote(w, r, func(note string) (*service.OrderRecord, error) {
		if _, err := a.Service.CancelOrder(r.Context(), c.actor, c.id, note); err != nil {
			return nil, err
		}
		return a.Service.OrderForReview(r.Context(), c.actor, c.id)
	})
}

// onOrder answers an operation on one order with that order, in the language that the query asks for.
func (a *API) onOrder(w http.ResponseWriter, r *http.Request, do func() (*service.OrderRecord, error)) error {
	l, err := locale(r)
	if err != nil {
		return err
	}
	o, err := do()
	if err != nil {
		return err
	}
	return a.answer(w, o, l)
}

// onOrderWithNote is onOrder for an operation whose body is a note.
func (a *API) onOrderWithNote(
	w http.ResponseWriter, r *http.Request, do func(note string) (*service.OrderRecord, error),
) error {
	return a.onOrder(w, r, func() (*service.OrderRecord, error) {
		note, err := readNote(r)
		if err != nil {
			return nil, err
		}
		return do(note)
	})
}

func locale(r *http.Request) (text.Locale, error) {
	q := httpx.ReadQuery(r)
	return q.Locale(), q.Done()
}
