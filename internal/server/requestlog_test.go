package server

import (
	"log/slog"
	"testing"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
)

// TestRequestLogAtOnce checks that a request is found as soon as it was answered, before it is stored by itself.
func TestRequestLogAtOnce(t *testing.T) {
	t.Parallel()
	s := run(t, nodeSettings(t, "--require-second-factor", "none"), slog.New(slog.DiscardHandler))
	made, err := s.app.Service.CreateAccount(t.Context(), access.Operator, "Acme", "owner@acme.example", text.English)
	must.NoError(t, err)
	tenant := access.Tenant{AccountID: made.Account.ID, Environment: access.Test}
	_, secret, err := s.app.Service.CreateKey(t.Context(), access.Operator, service.NewKey{
		Tenant: tenant, Name: "key", Scopes: access.AllScopes,
	})
	must.NoError(t, err)
	c, err := client.New(s.BaseURL()+prefix, secret, client.WithoutRetry())
	must.NoError(t, err)
	for n := 1; n <= 3; n++ {
		_, err = c.GetBalance(t.Context())
		must.NoError(t, err)
		found, _, err := s.app.Service.Requests(t.Context(), access.System, requestlog.Filter{Tenant: tenant}, 10)
		must.NoError(t, err)
		if len(found) != n {
			t.Fatalf("%d requests are found, %d were answered", len(found), n)
		}
	}
}
