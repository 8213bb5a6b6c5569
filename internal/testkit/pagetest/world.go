// Package pagetest gives tests of pages an installation with all its pages and the integration API on one server,
// people who may use them, and a browser without scripts.
package pagetest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/jsonlog"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/pages/admin"
	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/pages/portal"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// Space is the room on the disk of a new World.
var Space = host.Space{Total: 200 << 30, Free: 20 << 30, Usable: 20 << 30}

// World is a shop with the portal, the desk, the pages of administrators and the integration API.
type World struct {
	*shop.Shop
	Site   *ui.Site
	Portal *portal.Portal
	Desk   *desk.Desk
	Admin  *admin.Admin
	Server *httptest.Server

	Owner, Developer, Viewer *access.User  // of the shop's account
	Stranger                 *access.User  // the owner of another account
	Mika, Ren                *access.Staff // reviewers
	Aoi, Jun                 *access.Staff // administrators

	MailStopped bool       // the worker that sends mail has failed
	SweepError  string     // why the last sweep of the media store has failed; empty: it has not
	Space       host.Space // on the disk of the data

	address string // of the server
	limiter ratelimit.Limiter
	images  *imaging.Cache
	handler atomic.Pointer[http.Handler]
}

// Password is the password of everybody but Stranger, who has none.
const Password = "correct horse battery"

// passwordHash is computed once: it takes longer than most tests.
var passwordHash = sync.OnceValue(func() string { return access.HashPassword(Password) })

// New makes a world on SQLite.
func New(t testing.TB) *World {
	t.Helper()
	return On(t, storetest.SQLite(t))
}

// On makes a world in an empty database.
func On(t testing.TB, target string) *World {
	t.Helper()
	w := &World{Server: httptest.NewUnstartedServer(nil), Space: Space}
	t.Cleanup(w.Server.Close)
	w.address = "http://" + w.Server.Listener.Addr().String()
	w.Shop = shop.New(t, target, func(c *service.Config) {
		c.Guard = &netguard.Guard{AllowPrivate: true}
		c.SecretOverlap = 24 * time.Hour
		c.PublicURL = strings.Replace(w.address, "127.0.0.1", "localhost", 1) // passkeys need a name
	})
	w.limiter, w.images = ratelimit.NewMemory(w.Clock.Now), imaging.NewCache(w.Media, w.Staging, nil)
	box, err := secret.New(secret.Generate())
	must.NoError(t, err)
	w.Site, err = ui.New(ui.Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), jsonlog.Options())), Now: w.Clock.Now, Secrets: box,
		PublicURL: w.address, MediaURL: shop.MediaURL,
	}, portal.Area, desk.Area, admin.Area)
	must.NoError(t, err)
	w.serve(t)
	w.Server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		(*w.handler.Load()).ServeHTTP(rw, r)
	})
	w.Server.Start()
	w.addUsers(t)
	w.Mika = w.AddStaff(t, "mika@example.com", "Mika Sato", access.Reviewer)
	w.Ren = w.AddStaff(t, "ren@example.com", "Ren Ito", access.Reviewer)
	w.Aoi = w.AddStaff(t, "aoi@example.com", "Aoi Mori", access.Admin)
	w.Jun = w.AddStaff(t, "jun@example.com", "Jun Abe", access.Admin)
	return w
}

// Reconfigure replaces the use cases by those of a changed configuration, and the pages by such that use them.
func (w *World) Reconfigure(t testing.TB, changes ...func(*service.Config)) {
	t.Helper()
	w.Shop.Reconfigure(t, changes...)
	w.serve(t)
}

// serve puts the pages and the integration API on the server.
func (w *World) serve(t testing.TB) {
	t.Helper()
	api := integration.New(integration.Config{
		Service: w.Service, Limiter: w.limiter, Failures: ratelimit.NewFailures(100, w.Clock.Now), Staging: w.Staging,
		MaxPhotoBytes: 10 << 20, Responder: &httpx.Responder{Log: slog.New(slog.DiscardHandler), Now: w.Clock.Now},
	})
	w.Portal = portal.New(portal.Config{
		Site: w.Site, Service: w.Service, Staging: w.Staging, MaxPhotoBytes: 1 << 20, Limiter: w.limiter, Images: w.images,
		Operations: api.Operations(), Categories: api.Categories(),
	})
	w.Desk = desk.New(desk.Config{Site: w.Site, Service: w.Service, Images: w.images, Nav: admin.Nav(w.Site, w.Service)})
	t.Cleanup(w.Desk.Close) // before the server, which waits for streams of events
	w.Admin = admin.New(admin.Config{
		Site: w.Site, Service: w.Service, Guard: w.Desk.Guard(), Started: w.Clock.Now(),
		Workers: w.workers, Space: func() (host.Space, error) { return w.Space, nil }, Settings: []admin.Setting{
			{Name: "public-url", Value: w.address}, {Name: "smtp-url", Default: true},
		},
	})
	pages := http.NewServeMux()
	w.Site.Routes(pages)
	w.Portal.Routes(pages)
	w.Desk.Routes(pages)
	w.Admin.Routes(pages)
	all := http.NewServeMux()
	all.Handle("/", w.Site.Wrap(pages))
	all.Handle(integration.Prefix+"/", api)
	handler := httpx.RequestID(all)
	w.handler.Store(&handler)
}

// workers is what a server would say about its background work.
func (w *World) workers() []admin.Worker {
	failed := w.Clock.Now().Add(-time.Minute)
	return []admin.Worker{
		{Name: "deliver", Running: true, Since: w.Clock.Now().Add(-time.Hour)},
		{
			Name: "media-sweeper", Running: true, Since: w.Clock.Now().Add(-time.Hour), Failures: 1, FailedAt: &failed,
			Cause: w.SweepError,
		},
		{Name: "mail", Running: !w.MailStopped, Since: failed, Failures: 2, FailedAt: &failed},
	}
}

func (w *World) addUsers(t testing.TB) {
	t.Helper()
	var err error
	w.Owner, err = w.Store.Owner(t.Context(), w.Account.ID)
	must.NoError(t, err)
	w.Owner.PasswordHash = passwordHash()
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.SetPassword(access.Portal, w.Owner.ID, w.Owner.PasswordHash)
	}))
	w.Developer = w.AddUser(t, w.Account.ID, "developer@acme.example", access.Developer)
	w.Viewer = w.AddUser(t, w.Account.ID, "viewer@acme.example", access.Viewer)
	other, err := w.Service.CreateAccount(t.Context(), access.System, "Other", "owner@other.example", text.English)
	must.NoError(t, err)
	w.Stranger = &other.Owner
}

// AddUser makes a user of the portal.
func (w *World) AddUser(t testing.TB, accountID, email string, role access.Role) *access.User {
	t.Helper()
	u := &access.User{
		ID: uuid7.New(), AccountID: accountID, Email: email, Role: role,
		PasswordHash: passwordHash(), CreatedAt: w.Clock.Now(),
	}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertUser(u) }))
	return u
}

// AddStaff makes a staff user.
func (w *World) AddStaff(t testing.TB, email, name string, role access.StaffRole) *access.Staff {
	t.Helper()
	s := &access.Staff{
		ID: uuid7.New(), Email: email, Name: name, Role: role, PasswordHash: passwordHash(), CreatedAt: w.Clock.Now(),
	}
	token := access.HashSecretKey(access.NewStaffToken())
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.InsertStaff(s, store.StaffToken{Hash: token})
	}))
	return s
}
