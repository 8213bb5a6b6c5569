package portal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/capture"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pagetest"
)

const password = pagetest.Password

// world is a pagetest.World that makes what the portal shows.
type world struct{ *pagetest.World }

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{pagetest.New(t)}
}

// key makes an API key of the account.
func (w *world) key(t *testing.T, env access.Environment) *access.Key {
	t.Helper()
	tenant := access.Tenant{AccountID: w.Account.ID, Environment: env}
	n := service.NewKey{Tenant: tenant, Name: "Vault 7", Scopes: access.AllScopes}
	k, _, err := w.Service.CreateKey(t.Context(), w.Owner.Actor("", access.Origin{}), n)
	must.NoError(t, err)
	return k
}

// endpoint makes a webhook endpoint of the account, of a key of its own.
func (w *world) endpoint(t *testing.T, env access.Environment) *webhook.Endpoint {
	t.Helper()
	u, problem := webhook.CheckURL("url", "https://127.0.0.1:1999/hook-"+uuid7.New())
	if problem != nil {
		t.Fatal(problem)
	}
	n := service.NewEndpoint{URL: u, Events: webhook.Events}
	e, _, err := w.Service.CreateEndpoint(t.Context(), w.Owner.Actor(env, access.Origin{}), w.key(t, env).ID, n)
	must.NoError(t, err)
	return e
}

// captureLink makes a capture link for an item.
func (w *world) captureLink(t *testing.T, env access.Environment) *capture.Link {
	t.Helper()
	l, _, err := w.Service.CreateCaptureLink(t.Context(), w.Owner.Actor(env, access.Origin{}), service.NewCaptureLink{
		CategoryCode: "bags", BrandCode: "prada", ExternalID: "Vault 7",
	})
	must.NoError(t, err)
	return l
}

func (w *world) delivery(t *testing.T, env access.Environment) string {
	t.Helper()
	e, owner := w.endpoint(t, env), w.Owner.Actor(env, access.Origin{})
	id, err := w.Service.SendTestEvent(t.Context(), owner, e.ID, webhook.OrderOutcome)
	must.NoError(t, err)
	return id
}

// request records a refused request of the account and returns its id.
func (w *world) request(t *testing.T, env access.Environment) string {
	t.Helper()
	return w.requestAbout(t, env, "")
}

// requestAbout records a refused request about an order and returns its id.
func (w *world) requestAbout(t *testing.T, env access.Environment, orderID string) string {
	t.Helper()
	tenant, key := access.Tenant{AccountID: w.Account.ID, Environment: env}, w.key(t, env)
	block := requestlog.NewBlock(tenant)
	e := requestlog.Entry{
		ID: uuid.Must(uuid.NewV7()), Tenant: tenant, KeyID: key.ID, Method: "POST", Route: "POST /v1/integrations/orders",
		OrderID: orderID, Status: 400, Code: "validation-error", Duration: 3 * time.Millisecond,
		Refusal: `{"message":"The request is not valid.","details":{"limit":75,"errors":[` +
			`{"field":"photos[3].url","code":"required","message":"is required"}]}}`,
	}
	block.Add(&e)
	must.NoError(t, w.Service.RecordRequests(t.Context(), []*requestlog.Block{block}))
	return e.ID.String()
}

// use records requests of a key with an operation at a time.
func (w *world) use(t *testing.T, k *access.Key, at time.Time, requests int, route string) {
	t.Helper()
	block := requestlog.NewBlock(k.Tenant)
	for i := range requests {
		id := uuid.MustParse(uuid7.First(at))
		id[15] = byte(i)
		block.Add(&requestlog.Entry{ID: id, Tenant: k.Tenant, KeyID: k.ID, Method: "GET", Route: route, Status: 200})
	}
	must.NoError(t, w.Service.RecordRequests(t.Context(), []*requestlog.Block{block}))
}

// attempted makes an endpoint that is paused, has a second secret and has been tried.
func (w *world) attempted(t *testing.T) *webhook.Endpoint {
	t.Helper()
	e, owner := w.endpoint(t, access.Test), w.Owner.Actor(access.Test, access.Origin{})
	for n := range 3 {
		id, err := w.Service.SendTestEvent(t.Context(), owner, e.ID, webhook.OrderOutcome)
		must.NoError(t, err)
		due, err := w.Store.DueDeliveries(t.Context(), e.ID, store.Place{}, w.Clock.Now(), 10)
		must.NoError(t, err)
		for _, d := range due {
			if d.ID != id {
				continue
			}
			must.NoError(t, w.Store.RecordAttempts(t.Context(), uuid7.New(), []store.AttemptResult{{
				Attempt: webhook.Attempt{
					DeliveryID: id, Number: 1, At: w.Clock.Now().Add(-time.Duration(n) * 20 * time.Hour), HTTPStatus: 200 + 151*n,
				},
				EndpointID: e.ID, DueAt: d.DueAt,
			}}))
		}
	}
	_, _, err := w.Service.RotateSecret(t.Context(), owner, e.ID)
	must.NoError(t, err)
	_, err = w.Service.PauseEndpoint(t.Context(), owner, e.ID, true)
	must.NoError(t, err)
	return e
}

// invitation returns the token of an invitation to the account, and its id.
func (w *world) invitation(t *testing.T, email string, role access.Role) (token, id string) {
	t.Helper()
	address, err := w.Service.Invite(t.Context(), w.Owner.Actor("", access.Origin{}), email, role)
	must.NoError(t, err)
	_, token, _ = strings.Cut(address, "token=")
	l, err := w.Service.SignIn(access.Portal).Link(t.Context(), access.Invitation, token)
	must.NoError(t, err)
	return token, l.ID
}
