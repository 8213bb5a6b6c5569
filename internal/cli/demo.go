package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

const demoCredits = 1000

// createDemo fills an empty database with everything needed to try the service, and prints it. Secrets are shown
// only this once.
func createDemo(ctx context.Context, app *server.App, s *server.Server, out io.Writer) error {
	accounts, err := app.Store.AccountIDs(ctx)
	if err != nil {
		return err
	}
	if len(accounts) > 0 {
		_, err := fmt.Fprintln(out, "The database is not empty: no demo data created. "+
			"Keys and passwords were shown at the first start.")
		return err
	}
	if _, err := app.Service.ImportCatalog(ctx, access.Operator, demo.Catalog); err != nil {
		return err
	}
	account, err := app.Service.CreateAccount(ctx, access.Operator, "Demo", "owner@demo.example", text.English)
	if err != nil {
		return err
	}
	live := access.Tenant{AccountID: account.Account.ID, Environment: access.Live}
	if _, err := app.Service.GrantCredits(ctx, access.Operator, live, demoCredits, "demo credits"); err != nil {
		return err
	}
	keys := make(map[access.Environment]string)
	for _, env := range access.Environments {
		_, keys[env], err = app.Service.CreateKey(ctx, access.Operator, service.NewKey{
			Tenant: access.Tenant{AccountID: account.Account.ID, Environment: env},
			Name:   "Demo " + string(env),
			Scopes: access.AllScopes,
		})
		if err != nil {
			return err
		}
	}
	reviewer, err := app.Service.CreateStaff(
		ctx, access.Operator, "reviewer@demo.example", "Demo reviewer", access.Reviewer)
	if err != nil {
		return err
	}
	admin, err := app.Service.CreateStaff(ctx, access.Operator, "admin@demo.example", "Demo administrator", access.Admin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `Assay demo: this is shown only once.

  account      %s  (%s)
  owner        %s  password %s
  test key     %s
  live key     %s
  reviewer     %s  password %s
               desk token %s
  admin        %s  password %s
               desk token %s

Try it:

  curl%s -H "Authorization: Bearer %s" "%s/v1/integrations/catalog/brands?limit=3"

Sign in as owner at %s/portal, as reviewer or administrator at %s/desk.
API documentation: %s/docs

`, account.Account.Name, account.Account.ID, account.Owner.Email, account.Password,
		keys[access.Test], keys[access.Live],
		reviewer.Staff.Email, reviewer.Password, reviewer.Token, admin.Staff.Email, admin.Password, admin.Token,
		trust(app, s), keys[access.Test], s.BaseURL(), s.BaseURL(), s.BaseURL(), s.BaseURL())
	return err
}

// trust returns the curl option for a server that has only TLS with a self-signed certificate.
func trust(app *server.App, s *server.Server) string {
	set := &app.Settings
	if !strings.HasPrefix(s.BaseURL(), "https:") || set.TLSCert != "" || set.TLSDomain != "" {
		return ""
	}
	return fmt.Sprintf(" --cacert %q", filepath.Join(set.Data, "tls.crt"))
}
