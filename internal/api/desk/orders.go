package desk

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
)

const (
	orderLimit    = 50
	maxOrderLimit = 100
)

// listOrders shows orders of every status unless one is asked for.
func (a *API) listOrders(w http.ResponseWriter, r *http.Request, c *call) error {
	q := httpx.ReadQuery(r)
	l := q.Locale()
	f := store.DeskFilter{
		Environment: access.Live,
		Status:      order.Status(q.Enum("status", names(order.Statuses)...)),
	}
	if env := q.Enum("environment", names(access.Environments)...); env != "" {
		f.Environment = access.Environment(env)
	}
	if q.Enum("assignee", "me") != "" {
		f.AssigneeID = c.staff.ID
	}
	page, limit := q.Page(orderLimit, maxOrderLimit)
	if err := q.Done(); err != nil {
		return err
	}
	orders, total, err := a.Service.DeskOrders(r.Context(), f, page, limit)
	if err != nil {
		return err
	}
	view := struct {
		Data  []itemView `json:"data"`
		Page  int        `json:"page"`
		Limit int        `json:"limit"`
		Total int64      `json:"total"`
	}{make([]itemView, len(orders)), page, limit, total}
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
	o, err := a.Service.TakeNextOrder(r.Context(), c.staff)
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
	return a.onOrder(w, r, func() (*service.DeskOrder, error) { return a.Service.LookAtOrder(r.Context(), c.staff, c.id) })
}

// claimOrder and releaseOrder take no body: one that is sent is not read.
func (a *API) claimOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.DeskOrder, error) { return a.Service.ClaimOrder(r.Context(), c.staff, c.id) })
}

func (a *API) releaseOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.DeskOrder, error) { return a.Service.ReleaseOrder(r.Context(), c.staff, c.id) })
}

func (a *API) requestPhotos(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.DeskOrder, error) {
		drafts, err := readRequest(r)
		if err != nil {
			return nil, err
		}
		return a.Service.RequestPhotos(r.Context(), c.staff, c.id, drafts)
	})
}

func (a *API) completeOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.DeskOrder, error) {
		verdict, note, err := readVerdict(r)
		if err != nil {
			return nil, err
		}
		return a.Service.CompleteOrder(r.Context(), c.staff, c.id, verdict, note)
	})
}

func (a *API) failOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.DeskOrder, error) {
		note, err := readNote(r)
		if err != nil {
			return nil, err
		}
		return a.Service.FailOrder(r.Context(), c.staff, c.id, note)
	})
}

func (a *API) cancelOrder(w http.ResponseWriter, r *http.Request, c *call) error {
	return a.onOrder(w, r, func() (*service.DeskOrder, error) {
		note, err := readNote(r)
		if err != nil {
			return nil, err
		}
		return a.Service.CancelOrder(r.Context(), c.staff, c.id, note)
	})
}

// onOrder answers an operation on one order with that order, in the language that the query asks for.
func (a *API) onOrder(w http.ResponseWriter, r *http.Request, do func() (*service.DeskOrder, error)) error {
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

func locale(r *http.Request) (text.Locale, error) {
	q := httpx.ReadQuery(r)
	return q.Locale(), q.Done()
}

func names[S ~string](values []S) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}
