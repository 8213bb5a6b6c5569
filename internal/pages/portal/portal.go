// Package portal is the HTML pages where account users run their integration: keys, orders, the sandbox, webhooks,
// credits, the audit log, the team and their own settings. Everything is of the account of who is signed in; what
// belongs to others does not exist here.
package portal

import (
	"embed"
	"net/http"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/pages/signin"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/ttlcache"
)

//go:embed templates messages static
var files embed.FS

// Area is given to ui.New in internal/server.
var Area = ui.Area{Name: "portal", Files: files, Needs: []ui.Area{signin.Area}}

// Config is what the pages work with.
type Config struct {
	Site          *ui.Site
	Service       *service.Service
	Staging       *media.Staging    // where uploads wait
	MaxPhotoBytes int64             // of one uploaded file
	Limiter       ratelimit.Limiter // that of the integration API: pages show what it counts, and count forms by it

	Operations []string          // of the integration API, as the request log names them
	Categories map[string]string // of limits, by operation
	Images     *imaging.Cache    // photos in the sizes that pages show

	NoRequestLog bool // requests are not recorded
}

// Portal serves the pages.
type Portal struct {
	Config
	pages   *ui.Pages
	guard   *ui.Guard[*service.Member]
	signIn  *signin.Pages
	samples *ttlcache.Cache[string, []byte] // pictures by photo index
}

// visitor is a member with their session, at a page of an environment or of the whole account.
type visitor struct {
	*ui.Visitor[*service.Member]
	env access.Environment // empty: the whole account
}

// in returns the visitor at a page of an environment.
func (v *visitor) in(env access.Environment) *visitor { return &visitor{v.Visitor, env} }

// Again is ui.Visitor.Again, at the same page.
func (v *visitor) Again() (*visitor, error) {
	again, err := v.Visitor.Again()
	return &visitor{again, v.env}, err
}

// actor returns the visitor as the actor of a use case in the environment.
func (v *visitor) actor() access.Actor { return v.User.Actor(v.env, v.Origin) }

// base is the address of the environment's pages.
func (v *visitor) base() string { return home + "/" + string(v.env) }

// actorOf returns the visitor as the actor of a use case about the whole account, wherever they are.
func actorOf(who *visitor) access.Actor { return who.in("").actor() }

// New returns the pages. The site has to know Area.
func New(c Config) *Portal {
	p := &Portal{
		Config: c, pages: c.Site.Pages(Area.Name),
		samples: ttlcache.NewWeighted[string](sampleLife, sampleBytes, func(b []byte) int { return len(b) }),
	}
	p.pages.Shell = p.shell
	p.guard = &ui.Guard[*service.Member]{
		Pages: p.pages, Sessions: c.Service, Audience: access.Portal, SignIn: "/portal/sign-in",
		Confirm:     "/portal/settings/confirm",
		NeedsFactor: c.Service.NeedsSecondFactor, SetUp: "/portal/settings/second-factor",
		User: c.Service.MemberOfSession,
	}
	p.signIn = signin.New(signin.Config{
		Site: c.Site, Audience: access.Portal, SignIn: c.Service.SignIn(access.Portal), Guard: p.guard, Shell: p.shell,
		Settings: "/portal/settings", ChangeEmail: true,
		About: func(r *http.Request, who *signin.Visitor) string {
			return who.Email + " · " + c.Site.T(r, "portal.role."+string(who.Actor(who.Origin).Role))
		},
	})
	return p
}

// Routes mounts the pages.
func (p *Portal) Routes(mux *http.ServeMux) {
	for _, r := range p.table() {
		if r.role == "" {
			mux.Handle(r.pattern, p.pages.Handle(r.open))
			continue
		}
		signed := r.signed
		if strings.HasPrefix(r.pattern, http.MethodPost) {
			signed = p.counted(signed)
		}
		mux.Handle(r.pattern, p.guard.Handle(signed, func(m *service.Member) error {
			return access.RequireRole(m.Role, r.role)
		}))
	}
}

// Patterns returns the addresses of all pages with the role that each needs, for tests of who may see them; open pages
// have none.
func (p *Portal) Patterns() map[string]access.Role {
	patterns := make(map[string]access.Role)
	for _, r := range p.table() {
		patterns[r.pattern] = r.role
	}
	return patterns
}

const (
	envCookie = "assay_portal_env" // the environment that was looked at last
	envLife   = 365 * 24 * time.Hour
	home      = "/portal"
)

// environment is where a page is: that of its address, or else the one that was looked at last.
func (p *Portal) environment(r *http.Request) access.Environment {
	for _, env := range access.Environments {
		if prefix := home + "/" + string(env); r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/") {
			return env
		}
	}
	if value, ok := p.Site.Signed(r, envCookie); ok {
		if env, ok := access.ParseEnvironment(value); ok {
			return env
		}
	}
	return access.Test
}

// in adapts a page that shows one environment, and remembers which.
func (p *Portal) in(env access.Environment, h visitorHandler) visitorHandler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		if value, _ := p.Site.Signed(r, envCookie); value != string(env) && r.Method == http.MethodGet {
			p.Site.SetSigned(w, r, envCookie, string(env), envLife)
		}
		return h(w, r, who.in(env))
	}
}

// place is what every page of an environment knows.
type place struct {
	Env    access.Environment
	Base   string // address of the environment's pages
	Switch []ui.Tab
	Can    bool // the member may change things
}

func (p *Portal) place(r *http.Request, who *visitor, page string) place {
	pl := place{Env: who.env, Base: who.base(), Can: who.User.Role.Includes(access.Developer)}
	for _, e := range []access.Environment{access.Live, access.Test} {
		pl.Switch = append(pl.Switch, ui.Tab{
			Href: who.in(e).base() + page, Label: p.Site.T(r, "portal.env."+string(e)), Current: e == who.env,
		})
	}
	return pl
}

// shell is the navigation for who is signed in; none for others.
func (p *Portal) shell(r *http.Request) ui.Shell {
	who := ui.VisitorOf[*service.Member](r)
	shell := ui.Shell{Label: p.Site.T(r, "portal.name"), Home: home}
	if who == nil {
		return shell
	}
	env := p.environment(r)
	base := home + "/" + string(env)
	item := func(href, key, icon string) ui.NavItem {
		return ui.NavItem{Href: href, Label: p.Site.T(r, "portal.nav."+key), Icon: icon}
	}
	inEnv := ui.NavGroup{Label: p.Site.T(r, "portal.env."+string(env)), Items: []ui.NavItem{
		item(base, "overview", "home"), item(base+"/orders", "orders", "box"),
		{Href: base + "/search", Label: p.Site.T(r, "portal.search.title"), Icon: "search", Narrow: true},
		item(base+capturePath, "capture_links", "camera"), item(base+"/webhooks", "webhooks", "hook"),
		item(base+"/deliveries", "deliveries", "send"), item(base+"/requests", "requests", "list"),
		item(base+"/credits", "credits", "coins"),
	}}
	if env == access.Test {
		inEnv.Items = append(inEnv.Items, item(base+"/sandbox", "sandbox", "flask"))
		if r.URL.Path == base || strings.HasPrefix(r.URL.Path, base+"/") {
			shell.Notice = p.Site.T(r, "portal.env.notice")
		}
	}
	account := ui.NavGroup{Label: who.User.Account.Name, Items: []ui.NavItem{
		item("/portal/keys", "keys", "key"), item("/portal/audit", "audit", "shield"),
	}}
	if who.User.Role.Includes(access.Owner) {
		account.Items = append(account.Items, item("/portal/activity", "activity", "document"))
	}
	settings, verify := item("/portal/settings", "settings", "settings"), item("/portal/verify", "verify", "check")
	settings.Wide, verify.Wide = true, true // the name above and the first steps lead there, too
	account.Items = append(account.Items, item("/portal/team", "team", "users"), settings)
	help := ui.NavGroup{Label: p.Site.T(r, "portal.nav.help"), Items: []ui.NavItem{
		{Href: "/portal/start", Label: p.Site.T(r, "portal.guide.title"), Icon: "bolt"},
		verify,
		{Href: "/docs", Label: p.Site.T(r, "portal.nav.docs"), Icon: "book"},
	}}
	shell.Search = &ui.SearchBox{Action: base + "/search", Label: p.Site.T(r, "portal.search.label"), Short: p.Site.T(
		r, "portal.search.title")}
	shell.Groups = []ui.NavGroup{inEnv, account, help}
	shell.User = &ui.UserMenu{
		Name: who.User.Email, Detail: p.Site.T(r, "portal.role."+string(who.User.Role)), Href: "/portal/settings",
		SignOut: "/portal/sign-out",
	}
	return shell
}

// goHome leads to the overview of the environment that was looked at last.
func (p *Portal) goHome(w http.ResponseWriter, r *http.Request, _ *visitor) error {
	return p.Site.Redirect(w, r, home+"/"+string(p.environment(r)))
}

func csvTimeOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return ui.CSVTime(*t)
}

// sendCSV answers with a file, and writes down that the visitor has taken it.
func (p *Portal) sendCSV(
	w http.ResponseWriter, r *http.Request, actor access.Actor, name string, header []string,
	each func(write func(cells ...string) error) error,
) error {
	if err := p.Service.RecordExport(r.Context(), actor, name); err != nil {
		return err
	}
	return ui.WriteCSV(w, name, header, each)
}
