package admin_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

const password = pagetest.Password

// world is a pagetest.World with an endpoint of the Test key, so that orders make deliveries.
type world struct {
	*pagetest.World
	Endpoint *webhook.Endpoint
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: pagetest.New(t)}
	id := uuid7.New()
	w.Endpoint = &webhook.Endpoint{
		ID: id, Tenant: w.Test.Tenant, APIKeyID: w.Test.ID, Name: "erp",
		URL: "https://erp.example/hook", Events: []webhook.Event{webhook.OrderOutcome, webhook.UpdatePhotos},
		SealedSecret: w.Config.Secrets.Seal("s", id), CreatedAt: w.Clock.Now(),
	}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.InsertEndpoint(w.Endpoint, w.Endpoint.URL)
	}))
	return w
}

// failed makes a Test order whose delivery fails, and returns the delivery's id.
func (w *world) failed(t *testing.T) string {
	t.Helper()
	id := w.Order(t, w.Test, order.MockAuthentic)
	found, err := w.Store.Deliveries(t.Context(), webhook.DeliveryFilter{OrderID: id}, 1)
	must.NoError(t, err)
	now := w.Clock.Now()
	due, err := w.Store.DueDeliveries(t.Context(), w.Endpoint.ID, store.Place{}, now, 1000)
	must.NoError(t, err)
	results := make([]store.AttemptResult, len(due))
	for i, d := range due {
		results[i] = store.AttemptResult{
			Attempt: webhook.Attempt{
				DeliveryID: d.ID, Number: d.Attempts + 1, At: now, Duration: 120 * time.Millisecond,
				HTTPStatus: http.StatusServiceUnavailable, Answer: "<b>down</b>",
			},
			EndpointID: w.Endpoint.ID, DueAt: d.DueAt,
		}
	}
	must.NoError(t, w.Store.RecordAttempts(t.Context(), "sender", results))
	return found[0].ID
}

// certificate makes an authentic Test order and returns the id of its certificate.
func (w *world) certificate(t *testing.T) string {
	t.Helper()
	o, err := w.Store.Order(t.Context(), w.Order(t, w.Test, order.MockAuthentic))
	must.NoError(t, err)
	return o.CertificateID
}

// upload sends a catalog.
func upload(v *pagetest.Visitor, name, content string) *pagetest.Page {
	v.T.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("document", name)
	must.NoError(v.T, err)
	_, err = io.WriteString(part, content)
	must.NoError(v.T, err)
	must.NoError(v.T, form.Close())
	return v.Do(http.MethodPost, "/desk/admin/catalog/import", form.FormDataContentType(), &b)
}
