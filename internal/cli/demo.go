package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/demo/history"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

const (
	demoCredits = 1000
	demoFile    = "demo.txt" // in --data: what the first start has printed
)

// demoFlag is --demo, with past work, or --demo=empty, without.
type demoFlag string

const (
	demoOff   demoFlag = ""
	demoAlive demoFlag = "true"
	demoEmpty demoFlag = "empty"
)

func (d *demoFlag) String() string   { return string(*d) }
func (d *demoFlag) IsBoolFlag() bool { return true }

func (d *demoFlag) Set(s string) error {
	switch s {
	case "true", "empty":
		*d = demoFlag(s)
	case "false":
		*d = demoOff
	default:
		return errors.New("must be --demo or --demo=empty")
	}
	return nil
}

// createDemo fills an empty database with everything needed to try the service, and prints it. What it prints is kept
// in a file that only its owner can read, before the past work is made: an interrupted start loses no password.
func createDemo(ctx context.Context, app *server.App, s *server.Server, kind demoFlag, out io.Writer) error {
	accounts, err := app.Store.AccountIDs(ctx)
	if err != nil {
		return err
	}
	kept := filepath.Join(app.Settings.Data, demoFile)
	if len(accounts) > 0 {
		return tellOfDemo(kept, out)
	}
	began := time.Now()
	config := app.Config
	if kind == demoAlive {
		start := history.Start(began)
		config.Now = func() time.Time { return start }
	}
	made, printed, err := makeDemo(ctx, app, s, service.New(config))
	if err != nil {
		return err
	}
	if err := os.WriteFile(kept, []byte(printed), 0o600); err != nil {
		return err
	}
	if _, err := io.WriteString(out, printed); err != nil {
		return err
	}
	if kind == demoAlive {
		staging, err := media.NewStaging(app.Media.StagingDir())
		if err != nil {
			return err
		}
		if err := history.Write(ctx, app.Config, staging, began, made); err != nil {
			return err
		}
	}
	return app.Service.RefreshCatalog(ctx)
}

// tellOfDemo says where the credentials of an earlier start are, or how to get others.
func tellOfDemo(kept string, out io.Writer) error {
	where := "They are in " + kept + "."
	if _, err := os.Stat(kept); err != nil {
		where = "They were shown at the first start."
	}
	_, err := fmt.Fprintf(out, `The database is not empty: no demo data created. %s
For others: assay keys create --account Demo --env test --name demo --scopes all
            assay accounts reset-password --email owner@demo.example
            assay staff create --email you@demo.example --name You --role admin
To begin again, delete the data folder.
`, where)
	return err
}

// makeDemo makes the catalog, the account, its keys and the staff, and returns what to print of them.
func makeDemo(
	ctx context.Context, app *server.App, s *server.Server, use *service.Service,
) (made *history.Demo, printed string, err error) {
	if _, err := use.ImportCatalog(ctx, access.Operator, demo.Catalog); err != nil {
		return nil, "", err
	}
	account, err := use.CreateAccount(ctx, access.Operator, "Demo", "owner@demo.example", text.English)
	if err != nil {
		return nil, "", err
	}
	live := access.Tenant{AccountID: account.Account.ID, Environment: access.Live}
	if _, err := use.GrantCredits(ctx, access.Operator, live, demoCredits, "demo credits"); err != nil {
		return nil, "", err
	}
	keys, secrets := make(map[access.Environment]*access.Key), make(map[access.Environment]string)
	for _, env := range access.Environments {
		keys[env], secrets[env], err = use.CreateKey(ctx, access.Operator, service.NewKey{
			Tenant: access.Tenant{AccountID: account.Account.ID, Environment: env},
			Name:   "Demo " + string(env),
			Scopes: access.AllScopes,
		})
		if err != nil {
			return nil, "", err
		}
	}
	reviewer, err := use.CreateStaff(ctx, access.Operator, "reviewer@demo.example", "Demo reviewer", access.Reviewer)
	if err != nil {
		return nil, "", err
	}
	admin, err := use.CreateStaff(ctx, access.Operator, "admin@demo.example", "Demo administrator", access.Admin)
	if err != nil {
		return nil, "", err
	}
	base := s.BaseURL()
	printed = fmt.Sprintf(`Assay demo: this is shown only once; it is kept in %s.

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

`, filepath.Join(app.Settings.Data, demoFile),
		account.Account.Name, account.Account.ID, account.Owner.Email, account.Password,
		secrets[access.Test], secrets[access.Live],
		reviewer.Staff.Email, reviewer.Password, reviewer.Token, admin.Staff.Email, admin.Password, admin.Token,
		trust(app, s), secrets[access.Test], base, base, base, base)
	return &history.Demo{
		Account: account.Account, Owner: account.Owner, Test: keys[access.Test], Live: keys[access.Live],
		Reviewer: reviewer.Staff, Admin: admin.Staff,
	}, printed, nil
}

// trust returns the curl option for a server that has only TLS with a self-signed certificate.
func trust(app *server.App, s *server.Server) string {
	set := &app.Settings
	if !strings.HasPrefix(s.BaseURL(), "https:") || set.TLSCert != "" || set.TLSDomain != "" {
		return ""
	}
	return fmt.Sprintf(" --cacert %q", filepath.Join(set.Data, "tls.crt"))
}
