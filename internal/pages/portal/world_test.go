package portal_test

import (
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
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
	u, problem := webhook.CheckURL("url", "https://127.0.0.1:1999/hook-"+store.NewID())
	if problem != nil {
		t.Fatal(problem)
	}
	n := service.NewEndpoint{URL: u, Events: webhook.Events}
	e, _, err := w.Service.CreateEndpoint(t.Context(), w.Owner.Actor(env, access.Origin{}), w.key(t, env).ID, n)
	must.NoError(t, err)
	return e
}

func (w *world) delivery(t *testing.T, env access.Environment) string {
	t.Helper()
	e, owner := w.endpoint(t, env), w.Owner.Actor(env, access.Origin{})
	id, err := w.Service.SendTestEvent(t.Context(), owner, e.ID, webhook.OrderOutcome)
	must.NoError(t, err)
	return id
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
