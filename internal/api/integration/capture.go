package integration

import (
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/enum"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/domain/wire"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
	"github.com/assayhq/assay/internal/service"
)

// newCaptureView is the answer to a creation: the address is told once.
type newCaptureView struct {
	ID        string         `json:"id"`
	URL       string         `json:"url"`
	ExpiresAt wire.Timestamp `json:"expires_at"`
	Status    capture.Status `json:"status"`
}

type captureView struct {
	ID          string             `json:"id"`
	Status      capture.Status     `json:"status"`
	ExpiresAt   wire.Timestamp     `json:"expires_at"`
	SubmittedAt *wire.Timestamp    `json:"submitted_at"`
	ExternalID  *string            `json:"external_id"`
	OrderID     *string            `json:"order_id"`
	Photos      []capturePhotoView `json:"photos"`
}

type capturePhotoView struct {
	IndexCode string `json:"index_code"`
	URL       string `json:"url"`
}

func (a *API) createCaptureLink(w http.ResponseWriter, r *http.Request, c *call) error {
	n, err := a.readCaptureLink(r)
	if err != nil {
		return err
	}
	l, url, err := a.Service.CreateCaptureLink(r.Context(), c.actor(r), n)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(w, http.StatusCreated,
		newCaptureView{ID: l.ID, URL: url, ExpiresAt: wire.Timestamp(l.ExpiresAt), Status: capture.Open})
}

// readCaptureLink reads a link for an item, or for the photo request of an order, which says itself what the item is.
func (a *API) readCaptureLink(r *http.Request) (service.NewCaptureLink, error) {
	var n service.NewCaptureLink
	o, err := a.readObject(r)
	if err != nil {
		return n, err
	}
	orderID := o.OptString("order_id", input.NotEmpty)
	if orderID != nil {
		n.OrderID = *orderID
		for _, name := range []string{"brand_code", "category_code", "model_code", "external_id"} {
			if o.Raw(name).Exists() {
				o.Problem(name, "excluded", "must not be given with order_id")
			}
		}
	} else {
		n.BrandCode = o.String("brand_code", input.Required, input.NotEmpty)
		n.CategoryCode = o.String("category_code", input.Required, input.NotEmpty)
		n.ModelCode = o.String("model_code", input.NotEmpty)
		n.ExternalID = o.String("external_id", input.NotEmpty, input.MaxChars(order.MaxExternalID))
	}
	n.Life = time.Duration(o.Int("expires_in", input.Min(int64(capture.MinLife.Seconds())),
		input.Max(int64(capture.MaxLife.Seconds())))) * time.Second
	n.Locale = text.Locale(o.String("locale", input.OneOf(enum.Names(text.Locales)...)))
	if raw := o.OptString("return_url"); raw != nil {
		if problem := webhook.CheckLink("return_url", *raw); problem != nil {
			o.Problem("return_url", problem.Code, problem.Message)
		}
		n.ReturnURL = *raw
	}
	return n, o.Done()
}

const captureLink = "capture link" // as refusals call what the path names

func (a *API) getCaptureLink(w http.ResponseWriter, r *http.Request, c *call) error {
	id, err := c.uuid(captureLink)
	if err != nil {
		return err
	}
	l, err := a.Service.CaptureLink(r.Context(), c.actor(r), id)
	if err != nil {
		return err
	}
	view := captureView{
		ID: l.ID, Status: l.Status,
		ExpiresAt: wire.Timestamp(l.ExpiresAt), SubmittedAt: wire.OptionalTimestamp(l.SubmittedAt),
		ExternalID: optional(l.ExternalID), OrderID: optional(l.OrderID), Photos: make([]capturePhotoView, len(l.URLs)),
	}
	for i, p := range l.URLs {
		view.Photos[i] = capturePhotoView(p)
	}
	return httpx.WriteJSON(w, http.StatusOK, view)
}

func (a *API) revokeCaptureLink(w http.ResponseWriter, r *http.Request, c *call) error {
	return c.remove(w, r, captureLink, a.Service.RevokeCaptureLink)
}
