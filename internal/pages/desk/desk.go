// Package desk is the HTML pages where staff judge orders: sign-in, the queue, the order with its photos, the verdict
// and the photo request. It is built on the same use cases as the desk API; every form is one of them.
package desk

import (
	"cmp"
	"embed"
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/pages/signin"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

//go:embed templates messages static
var files embed.FS

// Area is given to ui.New in internal/server.
var Area = ui.Area{Name: "desk", Files: files, Needs: []ui.Area{signin.Area}}

// Config is what the pages work with.
type Config struct {
	Site    *ui.Site
	Service *service.Service
	Images  *imaging.Cache // photos in the sizes that pages show

	// OnChange is called when orders have moved through these pages. Nil is allowed.
	OnChange func()

	// Looks is the time between two looks for orders that have moved; 0: a second.
	Looks time.Duration

	// Nav returns further groups of the navigation for a staff user: the administrator's pages. Nil: none.
	Nav func(r *http.Request, who *access.Staff) []ui.NavGroup
}

const home = "/desk"

// Desk serves the pages.
type Desk struct {
	Config
	pages  *ui.Pages
	guard  *ui.Guard[*access.Staff]
	signIn *signin.Pages
	feed   *feed
}

// visitor is a staff user with their session.
type visitor = ui.Visitor[*access.Staff]

// actorOf returns the visitor as the actor of a use case.
func actorOf(who *visitor) access.Actor { return who.User.Actor(who.Origin) }

// New returns the pages. The site has to know Area.
func New(c Config) *Desk {
	d := &Desk{Config: c, pages: c.Site.Pages(Area.Name), feed: newFeed(c.Service.OrderCounts, c.Site.Log)}
	d.feed.tell, d.feed.every = c.OnChange, cmp.Or(c.Looks, feedInterval)
	d.pages.Shell = d.shell
	d.guard = &ui.Guard[*access.Staff]{
		Pages: d.pages, Sessions: c.Service, Audience: access.Desk, SignIn: "/desk/sign-in",
		Confirm: "/desk/me/confirm", Networks: c.Service.DeskNetworks(),
		NeedsFactor: c.Service.NeedsSecondFactor, SetUp: "/desk/me/second-factor",
		User: c.Service.StaffOfSession,
	}
	d.signIn = signin.New(signin.Config{
		Site: c.Site, Audience: access.Desk, SignIn: c.Service.SignIn(access.Desk), Guard: d.guard, Shell: d.shell,
		Settings: "/desk/me", NewToken: c.Service.RotateOwnToken,
		About: func(_ *http.Request, who *signin.Visitor) string { return who.Name + " · " + who.Email },
	})
	return d
}

// Guard lets only signed-in staff through: for further pages of the desk, such as the administrator's.
func (d *Desk) Guard() *ui.Guard[*access.Staff] { return d.guard }

// Close ends the streams of events, which would outlive every other request: when the server stops.
func (d *Desk) Close() { d.feed.close() }

// Routes mounts the pages.
func (d *Desk) Routes(mux *http.ServeMux) {
	for _, r := range d.table() {
		mux.Handle(r.pattern, r.handler)
	}
}

// Patterns returns the addresses of all pages, for tests of who may see them.
func (d *Desk) Patterns() []string {
	table := d.table()
	patterns := make([]string, len(table))
	for i, r := range table {
		patterns[i] = r.pattern
	}
	return patterns
}

type route struct {
	pattern string
	handler http.Handler
}

func (d *Desk) table() []route {
	staff, unattended := d.guard.Handle, d.guard.HandleUnattended
	routes := []route{
		{"GET /desk", staff(d.showQueue)},
		{"GET /desk/rows", unattended(d.showRows)},
		{"GET /desk/events", unattended(d.streamEvents)},
		{"GET /desk/find", staff(d.find)},
		{"POST /desk/next", staff(ui.WithForm(d.takeNext))},
		{"GET /desk/signed-in", staff(d.showSignedIn)},

		{"GET /desk/orders/{id}", staff(d.showOrder)},
		{"POST /desk/orders/{id}/claim", staff(d.claim)},
		{"POST /desk/orders/{id}/release", staff(d.release)},
		{"POST /desk/orders/{id}/draft", staff(ui.WithForm(d.saveDraft))},
		{"GET /desk/orders/{id}/draft/take", staff(d.showTake)},
		{"POST /desk/orders/{id}/draft/take", staff(ui.WithForm(d.takeDraft))},
		{"POST /desk/orders/{id}/verdict", staff(ui.WithForm(d.prepareVerdict))},
		{"GET /desk/orders/{id}/verdict", staff(d.confirmVerdict)},
		{"GET /desk/orders/{id}/complete", staff(d.confirmVerdict)},
		{"POST /desk/orders/{id}/complete", staff(ui.WithForm(d.complete))},
		{"GET /desk/orders/{id}/request", staff(d.showRequest)},
		{"POST /desk/orders/{id}/request", staff(ui.WithForm(d.sendRequest))},
		{"GET /desk/orders/{id}/request/preview", staff(d.showRequest)},
		{"POST /desk/orders/{id}/request/preview", staff(ui.WithForm(d.previewRequest))},
		{"GET /desk/orders/{id}/fail", staff(d.showFail)},
		{"POST /desk/orders/{id}/fail", staff(ui.WithForm(d.fail))},
		{"GET /desk/orders/{id}/cancel", staff(d.showCancel, access.AdminOnly)},
		{"POST /desk/orders/{id}/cancel", staff(ui.WithForm(d.cancel), access.AdminOnly)},
		{"GET /desk/orders/{id}/reassign", staff(d.showReassign, access.AdminOnly)},
		{"POST /desk/orders/{id}/reassign", staff(ui.WithForm(d.reassign), access.AdminOnly)},

		{"GET /desk/photos/{name}/facts", staff(d.showFacts)},
		{"GET /desk/photos/{name}/{size}", staff(d.servePhoto)},
	}
	for _, r := range d.signIn.Routes() {
		if r.Open != nil {
			routes = append(routes, route{r.Pattern, d.guard.Open(r.Open)})
		} else {
			routes = append(routes, route{r.Pattern, staff(signin.Signed[*access.Staff](r.Signed))})
		}
	}
	return routes
}

// showSignedIn is where somebody comes who signs in again beside their work.
func (d *Desk) showSignedIn(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	return d.pages.Render(w, r, ui.Page{Template: "signed_in"})
}

// inQueue is how many orders the queue shows, as far as is known.
func (d *Desk) inQueue() int {
	counts := d.feed.last()
	return int(counts[order.Queued] + counts[order.Processing])
}

// shell is the navigation for who is signed in; none for others.
func (d *Desk) shell(r *http.Request) ui.Shell {
	who := ui.VisitorOf[*access.Staff](r)
	shell := ui.Shell{Label: d.Site.T(r, "desk.name"), Home: "/desk"}
	if who == nil {
		return shell
	}
	shell.Groups = []ui.NavGroup{{Items: []ui.NavItem{
		{Href: "/desk", Label: d.Site.T(r, "desk.nav.queue"), Icon: "list", Count: d.inQueue()},
	}}}
	if d.Nav != nil {
		shell.Groups = append(shell.Groups, d.Nav(r, who.User)...)
	}
	shell.User = &ui.UserMenu{
		Name: who.User.Name, Detail: d.Site.T(r, "desk.role."+string(who.User.Role)),
		Href: "/desk/me", SignOut: "/desk/sign-out",
	}
	return shell
}
