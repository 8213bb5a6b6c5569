// Package admin is the HTML pages of administrators, below /desk/admin: accounts with their users, keys and credits,
// the catalog, staff, deliveries, certificates, the health of the system and statistics. They share sign-in, session
// and navigation with the desk. Every form is one use case of package service.
package admin

import (
	"embed"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/host"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

//go:embed templates messages static
var files embed.FS

// Area is given to ui.New in internal/server.
var Area = ui.Area{Name: "admin", Files: files}

// Config is what the pages work with.
type Config struct {
	Site    *ui.Site
	Service *service.Service
	Guard   *ui.Guard[*access.Staff] // of the desk: the same sessions, the same navigation
	Started time.Time                // when the program was started

	Workers  func() []Worker // what works in the background of this node; nil: nothing is known
	Settings []Setting       // in force, without secrets

	// Space is the room on the file system that holds the data.
	Space func() (host.Space, error)
}

// Worker is something that works in the background.
type Worker struct {
	Name     string
	Running  bool
	Since    time.Time  // since when it runs, or does not
	Failures int        // since the program was started: its own, and those of rounds that it went on after
	FailedAt *time.Time // the last of them
	Cause    string     // of the last one, while nothing has succeeded since; without secrets
}

// Failing reports whether a worker does not run, or its last round has failed.
func (w *Worker) Failing() bool { return !w.Running || w.Cause != "" }

// Setting is a setting of the program as it may be shown.
type Setting struct {
	Name, Value string
	Default     bool
}

// Admin serves the pages.
type Admin struct {
	Config
	pages *ui.Pages
	guard *ui.Guard[*access.Staff]
}

// visitor is a staff user with their session.
type visitor = ui.Visitor[*access.Staff]

// actorOf returns the visitor as the actor of a use case.
func actorOf(who *visitor) access.Actor { return who.User.Actor(who.Origin) }

// New returns the pages. The site has to know Area.
func New(c Config) *Admin {
	a := &Admin{Config: c, pages: c.Site.Pages(Area.Name)}
	a.pages.Shell = c.Guard.Pages.Shell
	guard := *c.Guard
	guard.Pages = a.pages
	a.guard = &guard
	return a
}

const home = "/desk/admin"

// Nav returns the administrators' part of the navigation, for desk.Config. Others get none.
func Nav(site *ui.Site, s *service.Service) func(r *http.Request, who *access.Staff) []ui.NavGroup {
	return func(r *http.Request, who *access.Staff) []ui.NavGroup {
		if !who.Allows(access.Admin) {
			return nil
		}
		group := ui.NavGroup{Label: site.T(r, "admin.nav.label")}
		for _, x := range []struct{ path, icon string }{
			{"statistics", "chart"},
			{"accounts", "users"},
			{"catalog", "book"},
			{"deliveries", "send"},
			{"certificates", "shield"},
			{"staff", "user"},
			{"log", "document"},
			{"system", "settings"},
		} {
			group.Items = append(
				group.Items, ui.NavItem{Href: home + "/" + x.path, Label: site.T(r, "admin.nav."+x.path), Icon: x.icon},
			)
		}
		if s.NeedsFourEyes() {
			n, err := s.ApprovalsToDecide(r.Context(), who.Actor(access.Origin{}))
			if err != nil {
				site.Log.WarnContext(r.Context(), "requests for approval are not counted", "error", err)
			}
			group.Items = append(group.Items, ui.NavItem{
				Href: approvals, Label: site.T(r, "admin.nav.approvals"), Icon: "check", Count: n,
			})
		}
		return []ui.NavGroup{group}
	}
}

type handler = func(w http.ResponseWriter, r *http.Request, who *visitor) error

type route struct {
	pattern string
	handle  handler
}

// table lists every page. Behind each POST that answers with a page there is a GET: the switch of language asks for it.
func (a *Admin) table() []route {
	const accounts, account = home + "/accounts", home + "/accounts/{account}"
	const answerTime, staff, member = home + "/catalog/answer-times/{code}", home + "/staff", home + "/staff/{staff}"
	return []route{
		{"GET /desk/admin", a.redirectTo(home + "/statistics")},
		{"GET /desk/admin/statistics", a.showStatistics},

		{"GET " + accounts, a.listAccounts},
		{"POST " + accounts, ui.WithForm(a.createAccount)},
		{"GET " + accounts + "/new", a.newAccount},
		{"GET " + account, a.withAccount(a.showAccount)},
		{"GET " + account + "/users/{user}/{action}", a.redirectTo(account)},
		{"POST " + account + "/users/{user}/password", a.withAccount(a.resetUserPassword)},
		{"POST " + account + "/users/{user}/second-factor", a.withAccount(a.resetUserFactors)},
		{"GET " + account + "/keys", a.withAccount(a.listKeys)},
		{"POST " + account + "/keys", a.withAccount(a.createKey)},
		{"GET " + account + "/keys/{key}", a.withAccount(a.showKey)},
		{"GET " + account + "/keys/{key}/{action}", a.redirectTo(account + "/keys/{key}")},
		{"POST " + account + "/keys/{key}/name", a.withAccount(a.renameKey)},
		{"POST " + account + "/keys/{key}/limits", a.withAccount(a.setKeyLimits)},
		{"POST " + account + "/keys/{key}/networks", a.withAccount(a.setKeyNetworks)},
		{"POST " + account + "/keys/{key}/revoke", a.withAccount(a.revokeKey)},
		{"GET " + account + "/credits/{environment}", a.withAccount(a.showCredits)},
		{"POST " + account + "/credits/{environment}", a.withAccount(a.grantCredits)},
		{"GET " + account + "/orders/{environment}", a.withAccount(a.listOrders)},

		{"GET /desk/admin/catalog", a.showCatalog},
		{"GET /desk/admin/catalog/export", a.exportCatalog},
		{"GET /desk/admin/catalog/import", a.showImport},
		{"POST /desk/admin/catalog/import", a.uploadCatalog},
		{"GET /desk/admin/catalog/drafts/{draft}", a.previewCatalog},
		{"POST /desk/admin/catalog/drafts/{draft}", a.confirmCatalog},
		{"GET /desk/admin/catalog/drafts/{draft}/drop", a.redirectTo("/desk/admin/catalog/drafts/{draft}")},
		{"POST /desk/admin/catalog/drafts/{draft}/drop", a.dropCatalog},
		{"GET " + answerTime + "/{action}", a.redirectTo("/desk/admin/catalog")},
		{"POST " + answerTime + "/pause", a.changeAnswerTime(a.Service.PauseAnswerTime, "admin.catalog.paused")},
		{"POST " + answerTime + "/resume", a.changeAnswerTime(a.Service.ResumeAnswerTime, "admin.catalog.resumed")},

		{"GET /desk/admin/deliveries", a.listDeliveries},
		{"GET /desk/admin/deliveries/{delivery}", a.showDelivery},
		{"GET /desk/admin/deliveries/{delivery}/redeliver", a.redirectTo("/desk/admin/deliveries/{delivery}")},
		{"POST /desk/admin/deliveries/{delivery}/redeliver", a.redeliver},
		{"POST /desk/admin/deliveries/redeliver", ui.WithForm(a.redeliverFailed)},

		{"GET /desk/admin/certificates", a.listCertificates},
		{"GET /desk/admin/certificates/{certificate}", a.showCertificate},
		{"GET /desk/admin/certificates/{certificate}/revoke", a.redirectTo("/desk/admin/certificates/{certificate}")},
		{"POST /desk/admin/certificates/{certificate}/revoke", ui.WithForm(a.revokeCertificate)},

		{"GET " + staff, a.listStaff},
		{"POST " + staff, ui.WithForm(a.createStaff)},
		{"POST " + staff + "/invitations", ui.WithForm(a.inviteStaff)},
		{"GET " + staff + "/invitations", a.redirectTo(staff)},
		{"POST " + staff + "/invitations/{invitation}/again", a.inviteStaffAgain},
		{"GET " + staff + "/invitations/{invitation}/again", a.redirectTo(staff)},
		{"POST " + staff + "/invitations/{invitation}/delete", a.uninviteStaff},
		{"GET " + member, a.showStaff},
		{"GET " + member + "/{action}", a.redirectTo(member)},
		{"POST " + member + "/role", ui.WithForm(a.changeRole)},
		{"POST " + member + "/deactivate", a.changeStaff(a.Service.DeactivateStaff, staff, "admin.staff.deactivated_done")},
		{"POST " + member + "/reactivate", a.newPassword(a.Service.ReactivateStaff, "admin.staff.reactivated")},
		{"POST " + member + "/token", ui.WithForm(a.rotateToken)},
		{"POST " + member + "/token/revoke", a.changeStaff(a.Service.RevokeStaffToken, "", "admin.staff.token_revoked")},
		{"GET " + member + "/token/revoke", a.redirectTo(member)},
		{"POST " + member + "/password", a.newPassword(a.Service.ResetStaffPassword, "admin.staff.password_made")},
		{"POST " + member + "/second-factor", a.changeStaff(a.Service.ResetStaffFactors, "", "admin.staff.factor_removed")},

		{"GET /desk/admin/approvals", a.listApprovals},
		{"GET /desk/admin/approvals/{approval}/{action}", a.redirectTo(approvals)},
		{"POST /desk/admin/approvals/{approval}/approve", a.decide(a.Service.Approve, "admin.approvals.approved_done")},
		{"POST /desk/admin/approvals/{approval}/refuse", a.decide(a.Service.Refuse, "admin.approvals.refused_done")},
		{"POST /desk/admin/approvals/{approval}/withdraw", a.decide(a.Service.Withdraw, "admin.approvals.withdrawn_done")},

		{"GET /desk/admin/log", a.showLog},
		{"GET /desk/admin/log.csv", a.exportLog},

		{"GET /desk/admin/system", a.showSystem},
	}
}

// Routes mounts the pages.
func (a *Admin) Routes(mux *http.ServeMux) {
	for _, r := range a.table() {
		mux.Handle(r.pattern, a.guard.Handle(a.redirectIfPending(r.handle), access.AdminOnly))
	}
}

// Patterns returns the addresses of all pages, for tests of who may see them.
func (a *Admin) Patterns() []string {
	var patterns []string
	for _, r := range a.table() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// onceView is the page that tells secrets, once.
type onceView struct {
	Title  string
	Text   string
	Values []onceValue
	Back   string
}

type onceValue struct{ Label, Value string }

func (a *Admin) showOnce(w http.ResponseWriter, r *http.Request, v onceView) error {
	return a.pages.Render(w, r, ui.Page{Template: "once", Data: v})
}

// redirectWithFault goes back to a page and says there why something could not be done, when the reason is one to tell.
func (a *Admin) redirectWithFault(w http.ResponseWriter, r *http.Request, back string, err error) error {
	if key := "admin.fault." + fault.CodeOf(err); a.Site.Messages.Has(key) {
		return a.Site.Redirect(w, r, back, ui.Failed(key))
	}
	return err
}

// redirectTo sends a visitor on to another page. Parts of its address in braces are taken from the address that was
// asked for.
func (a *Admin) redirectTo(pattern string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ *visitor) error {
		segments := strings.Split(pattern, "/")
		for i, s := range segments {
			if name, ok := strings.CutPrefix(s, "{"); ok {
				segments[i] = url.PathEscape(r.PathValue(strings.TrimSuffix(name, "}")))
			}
		}
		target := strings.Join(segments, "/")
		if r.URL.RawQuery != "" { // the switch of language is in it
			target += "?" + r.URL.RawQuery
		}
		return a.Site.Redirect(w, r, target)
	}
}
