package outbox

import (
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
)

// Test is an outbox in a test, which ends at the first error.
type Test struct {
	testing.TB
	*Outbox
}

// NewTest is New in a test.
func NewTest(t testing.TB, s *store.Store) *Test {
	t.Helper()
	o, err := New(t.Context(), s)
	must.NoError(t, err)
	return &Test{t, o}
}

// Endpoint is Outbox.Endpoint.
func (o *Test) Endpoint(url string, oauth *webhook.OAuth) *webhook.Endpoint {
	o.Helper()
	e, err := o.Outbox.Endpoint(o.Context(), url, oauth)
	must.NoError(o, err)
	return e
}

// Queue is Outbox.Queue.
func (o *Test) Queue(endpoints []*webhook.Endpoint, n int, due time.Time) []*webhook.Delivery {
	o.Helper()
	all, err := o.Outbox.Queue(o.Context(), endpoints, n, due)
	must.NoError(o, err)
	return all
}

// Update changes the database in one transaction.
func (o *Test) Update(f func(tx *store.Tx) error) {
	o.Helper()
	must.NoError(o, o.Store.Update(o.Context(), f))
}

// Delivery reads a delivery.
func (o *Test) Delivery(id string) *webhook.Delivery {
	o.Helper()
	d, err := o.Store.Delivery(o.Context(), id)
	must.NoError(o, err)
	return d
}

// Attempts reads the attempts of a delivery.
func (o *Test) Attempts(id string) []webhook.Attempt {
	o.Helper()
	all, err := o.Store.Attempts(o.Context(), id)
	must.NoError(o, err)
	return all
}
