package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/demo/history"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/server"
	"github.com/assayhq/assay/internal/service"
)

const (
	demoCredits = 1000
	demoFile    = "demo.txt" // in --data: what the first start has printed
	demoIssuer  = "Assay"    // on certificates, where nobody else is named

	demoUnfinished = "demo.unfinished" // in --data: a demoData
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
	switch kind := demoFlag(s); kind {
	case demoAlive, demoEmpty:
		*d = kind
	case "false":
		*d = demoOff
	default:
		return errors.New("must be --demo or --demo=empty")
	}
	return nil
}

// demoData is what createDemo has made so far. It is kept in a file until all is made: a start that is killed in the
// middle is finished by the next one, which shows everything, and no password is lost.
type demoData struct {
	Kind     demoFlag                      `json:"kind"`
	Catalog  bool                          `json:"catalog"`
	Account  *service.NewAccount           `json:"account"`
	Credits  bool                          `json:"credits"`
	Keys     map[access.Environment]string `json:"keys"`
	KeyIDs   map[access.Environment]string `json:"key_ids"`
	Reviewer *service.NewStaff             `json:"reviewer"`
	Admin    *service.NewStaff             `json:"admin"`

	resumed bool // a start before this one was killed
}

// createDemo fills an empty database with everything needed to try the service, and prints it. What it prints is kept
// in a file that only its owner can read.
func (inv *invocation) createDemo(ctx context.Context, app *server.App, s *server.Server) error {
	kind := inv.demo
	unfinished, kept := filepath.Join(app.Settings.Data, demoUnfinished), filepath.Join(app.Settings.Data, demoFile)
	made := &demoData{Kind: kind, Keys: make(map[access.Environment]string), KeyIDs: make(map[access.Environment]string)}
	content, err := os.ReadFile(filepath.Clean(unfinished))
	switch {
	case err == nil:
		if err := json.Unmarshal(content, made); err != nil {
			return fmt.Errorf("%s: %w", unfinished, err)
		}
		made.resumed = true
		kind = cmp.Or(made.Kind, kind)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		used, err := hasData(ctx, app)
		if err != nil {
			return err
		}
		if used {
			return inv.tellOfDemo(kept)
		}
	}
	began, config := time.Now(), app.Config
	if kind == demoAlive {
		start := history.Start(began)
		config.Now = func() time.Time { return start }
	}
	if err := made.make(ctx, service.New(config), unfinished); err != nil {
		return err
	}
	printed := made.text(app, s)
	if err := os.WriteFile(kept, []byte(printed), 0o600); err != nil {
		return err
	}
	if err := inv.print(made.view(s), "%s", block(printed)); err != nil {
		return err
	}
	if kind == demoAlive {
		if err := made.writeHistory(ctx, app, began); err != nil {
			return err
		}
	}
	if err := app.Service.RefreshCatalog(ctx); err != nil {
		return err
	}
	return os.Remove(unfinished)
}

// demoHalfMade reports whether a start was killed while it made a demo: the next one completes it, with --demo or
// without.
func demoHalfMade(data string) bool { return host.Exists(filepath.Join(data, demoUnfinished)) }

// hasData reports whether somebody has made an account, a staff user or a catalog: a demo would be in their way.
func hasData(ctx context.Context, app *server.App) (bool, error) {
	accounts, err := app.Store.AccountIDs(ctx)
	if err != nil || len(accounts) > 0 {
		return true, err
	}
	members, err := app.Service.StaffMembers(ctx, access.Operator)
	if err != nil || len(members) > 0 {
		return true, err
	}
	catalog, err := app.Service.CatalogDocument(ctx)
	return err == nil && len(catalog.Categories) > 0, err
}

// make goes through the steps and notes each in the file.
func (d *demoData) make(ctx context.Context, use *service.Service, unfinished string) error {
	for _, step := range demoSteps {
		if err := writePrivate(unfinished, d); err != nil {
			return err
		}
		if err := step(ctx, use, d); err != nil {
			if !d.resumed && d.Account == nil { // another node was first
				err = errors.Join(err, os.Remove(unfinished))
			}
			return err
		}
	}
	return writePrivate(unfinished, d)
}

// writeHistory makes the past work.
func (d *demoData) writeHistory(ctx context.Context, app *server.App, now time.Time) error {
	staging, err := media.NewStaging(app.Media.StagingDir())
	if err != nil {
		return err
	}
	live, err := app.Service.Key(ctx, access.Operator, d.KeyIDs[access.Live])
	if err != nil {
		return err
	}
	test, err := app.Service.Key(ctx, access.Operator, d.KeyIDs[access.Test])
	if err != nil {
		return err
	}
	return history.Write(ctx, app.Config, staging, now, &history.Demo{
		Account: d.Account.Account, Owner: d.Account.Owner, Live: live, Test: test,
		Reviewer: d.Reviewer.Staff, Admin: d.Admin.Staff,
	})
}

// tellOfDemo says where the credentials of an earlier start are, or how to get others.
func (inv *invocation) tellOfDemo(kept string) error {
	where := "are in " + kept
	if !host.Exists(kept) {
		where = "were shown at the first start"
	}
	return inv.print(demoView{}, `There is data already, so no demo data was created. Passwords and keys %s.
For new ones, with the settings of this server (--data %s):

  assay keys create --account Demo --env test --name demo --scopes all
  assay accounts reset-password --email owner@demo.example
  assay staff create --email you@demo.example --name You --role admin

To begin again, delete the data folder.

`, where, filepath.Dir(kept))
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
			var k *access.Key
			k, d.Keys[env], err = s.CreateKey(ctx, access.Operator, service.NewKey{
				Tenant: access.Tenant{AccountID: d.Account.Account.ID, Environment: env},
				Name:   "Demo " + string(env),
				Scopes: access.AllScopes,
			})
			if err == nil {
				d.KeyIDs[env] = k.ID
			}
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

// demoView is the JSON output for the demo.
type demoView struct {
	Created  bool                          `json:"created"` // false: there was data already
	URL      string                        `json:"url,omitempty"`
	Account  string                        `json:"account_id,omitempty"`
	Keys     map[access.Environment]string `json:"keys,omitempty"`
	Owner    *demoPerson                   `json:"owner,omitempty"`
	Reviewer *demoPerson                   `json:"reviewer,omitempty"`
	Admin    *demoPerson                   `json:"admin,omitempty"`
}

type demoPerson struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Token    string `json:"token,omitempty"` // of staff, for the desk API
}

func (d *demoData) view(s *server.Server) demoView {
	staff := func(n *service.NewStaff) *demoPerson { return &demoPerson{n.Staff.Email, n.Password, n.Token} }
	return demoView{
		Created: true, URL: s.BaseURL(), Account: d.Account.Account.ID, Keys: d.Keys,
		Owner:    &demoPerson{Email: d.Account.Owner.Email, Password: d.Account.Password},
		Reviewer: staff(d.Reviewer), Admin: staff(d.Admin),
	}
}

func (d *demoData) text(app *server.App, s *server.Server) string {
	return fmt.Sprintf(`Assay demo: this is shown only once; it is kept in %s.

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
		d.Account.Account.Name, d.Account.Account.ID, d.Account.Owner.Email, d.Account.Password,
		d.Keys[access.Test], d.Keys[access.Live],
		d.Reviewer.Staff.Email, d.Reviewer.Password, d.Reviewer.Token, d.Admin.Staff.Email, d.Admin.Password, d.Admin.Token,
		trust(app, s), d.Keys[access.Test], s.BaseURL(), s.BaseURL(), s.BaseURL(), s.BaseURL())
}

// trust returns the curl option for a server that has only TLS with a self-signed certificate.
func trust(app *server.App, s *server.Server) string {
	set := &app.Settings
	if !strings.HasPrefix(s.BaseURL(), "https:") || set.TLSCert != "" || set.TLSDomain != "" {
		return ""
	}
	return fmt.Sprintf(" --cacert %q", filepath.Join(set.Data, "tls.crt"))
}
