package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

const demoCredits = 1000

// demoData is what createDemo has made so far. It is kept in a file until it was shown: a start that is killed in the
// middle is finished by the next one, and no password is lost.
type demoData struct {
	Catalog  bool                          `json:"catalog"`
	Account  *service.NewAccount           `json:"account"`
	Credits  bool                          `json:"credits"`
	Keys     map[access.Environment]string `json:"keys"`
	Reviewer *service.NewStaff             `json:"reviewer"`
	Admin    *service.NewStaff             `json:"admin"`

	resumed bool // a start before this one was killed
}

// createDemo fills an empty database with everything needed to try the service, and prints it. Secrets are shown
// only this once.
func createDemo(ctx context.Context, app *server.App, s *server.Server, out io.Writer) error {
	path := filepath.Join(app.Settings.Data, "demo.unfinished")
	made := &demoData{Keys: make(map[access.Environment]string)}
	content, err := os.ReadFile(filepath.Clean(path))
	switch {
	case err == nil:
		if err := json.Unmarshal(content, made); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		made.resumed = true
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		accounts, err := app.Store.AccountIDs(ctx)
		if err != nil {
			return err
		}
		if len(accounts) > 0 {
			_, err := fmt.Fprintln(out, "The database is not empty: no demo data created. "+
				"Keys and passwords were shown at the first start.")
			return err
		}
	}
	for _, step := range demoSteps {
		if err := made.save(path); err != nil {
			return err
		}
		if err := step(ctx, app.Service, made); err != nil {
			if !made.resumed && made.Account == nil { // another node was first
				err = errors.Join(err, os.Remove(path))
			}
			return err
		}
	}
	if err := made.save(path); err != nil {
		return err
	}
	if err := made.print(app, s, out); err != nil {
		return err
	}
	return os.Remove(path)
}

// save replaces the file as a whole.
func (d *demoData) save(path string) error {
	content, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// demoSteps each make one thing, unless it was made. What a killed start has made without noting it is made again under
// another name.
var demoSteps = []func(context.Context, *service.Service, *demoData) error{
	func(ctx context.Context, s *service.Service, d *demoData) (err error) {
		if !d.Catalog {
			_, err = s.ImportCatalog(ctx, access.Operator, demo.Catalog)
			d.Catalog = err == nil
		}
		return err
	},
	func(ctx context.Context, s *service.Service, d *demoData) (err error) {
		if d.Account == nil {
			d.Account, err = s.CreateAccount(ctx, access.Operator, "Demo", "owner@demo.example", text.English)
			if d.resumed && fault.CodeOf(err) != "" {
				d.Account, err = s.CreateAccount(ctx, access.Operator, "Demo 2", "owner-2@demo.example", text.English)
			}
		}
		return err
	},
	func(ctx context.Context, s *service.Service, d *demoData) (err error) {
		if !d.Credits {
			live := access.Tenant{AccountID: d.Account.Account.ID, Environment: access.Live}
			_, err = s.GrantCredits(ctx, access.Operator, live, demoCredits, "demo credits")
			d.Credits = err == nil
		}
		return err
	},
	demoKey(access.Test),
	demoKey(access.Live),
	func(ctx context.Context, s *service.Service, d *demoData) error {
		return d.staff(ctx, s, &d.Reviewer, "reviewer", "Demo reviewer", access.Reviewer)
	},
	func(ctx context.Context, s *service.Service, d *demoData) error {
		return d.staff(ctx, s, &d.Admin, "admin", "Demo administrator", access.Admin)
	},
}

func demoKey(env access.Environment) func(context.Context, *service.Service, *demoData) error {
	return func(ctx context.Context, s *service.Service, d *demoData) (err error) {
		if d.Keys[env] == "" {
			_, d.Keys[env], err = s.CreateKey(ctx, access.Operator, service.NewKey{
				Tenant: access.Tenant{AccountID: d.Account.Account.ID, Environment: env},
				Name:   "Demo " + string(env),
				Scopes: access.AllScopes,
			})
		}
		return err
	}
}

func (d *demoData) staff(
	ctx context.Context, s *service.Service, to **service.NewStaff, name, title string, role access.StaffRole,
) (err error) {
	if *to != nil {
		return nil
	}
	*to, err = s.CreateStaff(ctx, access.Operator, name+"@demo.example", title, role)
	if d.resumed && fault.CodeOf(err) != "" {
		*to, err = s.CreateStaff(ctx, access.Operator, name+"-2@demo.example", title, role)
	}
	return err
}

func (d *demoData) print(app *server.App, s *server.Server, out io.Writer) error {
	_, err := fmt.Fprintf(out, `Assay demo: this is shown only once.

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

`, d.Account.Account.Name, d.Account.Account.ID, d.Account.Owner.Email, d.Account.Password,
		d.Keys[access.Test], d.Keys[access.Live],
		d.Reviewer.Staff.Email, d.Reviewer.Password, d.Reviewer.Token, d.Admin.Staff.Email, d.Admin.Password, d.Admin.Token,
		trust(app, s), d.Keys[access.Test], s.BaseURL(), s.BaseURL(), s.BaseURL(), s.BaseURL())
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
