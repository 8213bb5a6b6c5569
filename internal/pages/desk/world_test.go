package desk_test

import (
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

const password = pagetest.Password

// world is a pagetest.World whose account has credits for many Live orders.
type world struct{ *pagetest.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{pagetest.New(t)}
	live := access.Tenant{AccountID: w.Account.ID, Environment: access.Live}
	_, err := w.Service.GrantCredits(t.Context(), access.System, live, 100_000, "for tests")
	must.NoError(t, err)
	return w
}

// queued makes a Live order of a Chanel bag with three photos.
func (w *world) queued(t *testing.T) string {
	t.Helper()
	return w.queuedWith(t, "overall-picture", "brand-stamp", "serial-number")
}

// queuedWith makes a Live order of a Chanel bag with a photo for each of the indexes.
func (w *world) queuedWith(t *testing.T, indexes ...string) string {
	t.Helper()
	photos := make([]order.DraftPhoto, len(indexes))
	for i, code := range indexes {
		photos[i] = order.DraftPhoto{URL: w.Photo(t, w.Live), IndexCode: code}
	}
	created, err := w.Service.CreateOrder(t.Context(), w.Live.Actor(access.Origin{}), &order.Draft{
		CategoryCode: "bags", BrandCode: "chanel", ExternalID: new("SKU-1"), AnswerTime: 60, Photos: photos,
	}, nil)
	must.NoError(t, err)
	return created.OrderID
}

// claimed makes a Live order that a staff user has claimed.
func (w *world) claimed(t *testing.T, who *access.Staff) string {
	t.Helper()
	id := w.queued(t)
	_, err := w.Service.ClaimOrder(t.Context(), who.Actor(access.Origin{}), id)
	must.NoError(t, err)
	return id
}

func (w *world) order(t *testing.T, id string) *order.Order {
	t.Helper()
	o, err := w.Store.Order(t.Context(), id)
	must.NoError(t, err)
	return o
}
