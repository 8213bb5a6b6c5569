package portal

import (
	"net/http"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/pages/signin"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/service"
)

type visitorHandler = func(w http.ResponseWriter, r *http.Request, who *visitor) error

// route is one address with the least powerful role that may use it; open pages have none.
type route struct {
	pattern string
	role    access.Role
	signed  signedHandler
	open    httpx.Handler
}

type signedHandler = func(http.ResponseWriter, *http.Request, *ui.Visitor[*service.Member]) error

// What one person may send in a minute: more than anybody does by hand. Some of it makes work here or elsewhere.
const (
	maxForms  = 120
	maxCostly = 30
)

// counted refuses forms of a person who has sent too many.
func (p *Portal) counted(h signedHandler) signedHandler {
	return func(w http.ResponseWriter, r *http.Request, who *ui.Visitor[*service.Member]) error {
		if err := p.count(r, who.User, "form", maxForms); err != nil {
			return err
		}
		return h(w, r, who)
	}
}

// costly is counted for what makes work: test orders and webhook events.
func (p *Portal) costly(h visitorHandler) visitorHandler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor) error {
		if err := p.count(r, who.User, "costly", maxCostly); err != nil {
			return err
		}
		return h(w, r, who)
	}
}

func (p *Portal) count(r *http.Request, m *service.Member, category string, limit int) error {
	return ui.Count(r.Context(), p.Limiter, "portal "+m.ID, category, limit)
}

// memberRoute is a row for members who have at least a role.
func memberRoute(role access.Role, pattern string, h visitorHandler) route {
	return route{pattern: pattern, role: role, signed: func(
		w http.ResponseWriter, r *http.Request, who *ui.Visitor[*service.Member],
	) error {
		return h(w, r, &visitor{Visitor: who})
	}}
}

// table lists all pages. The role on the row is what the use cases behind it demand, too. Where a form is sent to can
// be opened as well, and leads to the page that has the form: that is where the switch of language of an answer goes.
func (p *Portal) table() []route {
	routes := []route{
		memberRoute(access.Viewer, "GET /portal", p.goHome),
		memberRoute(access.Viewer, "GET /portal/keys", p.showKeys),
		memberRoute(access.Developer, "GET /portal/keys/new", p.showNewKey),
		memberRoute(access.Developer, "POST /portal/keys", ui.WithForm(p.createKey)),
		memberRoute(access.Viewer, "GET /portal/keys/{id}", p.showKey),
		memberRoute(access.Developer, "GET /portal/keys/{id}/rename", p.showRenameKey),
		memberRoute(access.Developer, "POST /portal/keys/{id}/rename", ui.WithForm(p.renameKey)),
		memberRoute(access.Developer, "GET /portal/keys/{id}/networks", p.showNetworks),
		memberRoute(access.Developer, "POST /portal/keys/{id}/networks", ui.WithForm(p.setNetworks)),
		memberRoute(access.Developer, "GET /portal/keys/{id}/revoke", p.showRevokeKey),
		memberRoute(access.Developer, "POST /portal/keys/{id}/revoke", p.revokeKey),

		memberRoute(access.Viewer, "GET /portal/audit", auditLog.of(p.showLog)),
		memberRoute(access.Viewer, "GET /portal/audit.csv", auditLog.of(p.exportLog)),
		memberRoute(access.Viewer, "GET /portal/audit/{seq}", auditLog.of(p.showLogEvent)),
		memberRoute(access.Owner, "GET /portal/activity", activityLog.of(p.showLog)),
		memberRoute(access.Owner, "GET /portal/activity.csv", activityLog.of(p.exportLog)),
		memberRoute(access.Owner, "GET /portal/activity/{seq}", activityLog.of(p.showLogEvent)),
		memberRoute(access.Viewer, "GET /portal/start", p.showStart),
		memberRoute(access.Viewer, "GET /portal/verify", p.showVerify),
		memberRoute(access.Viewer, "GET /portal/requests/{id}", p.goToRequest),
		memberRoute(access.Viewer, "GET /portal/photos/{name}/{size}", p.servePhoto),

		memberRoute(access.Viewer, "GET /portal/team", p.showTeam),
		memberRoute(access.Owner, "POST /portal/team", ui.WithForm(p.invite)),
		memberRoute(access.Owner, "POST /portal/team/invitations/{id}/delete", p.uninvite),
		memberRoute(access.Viewer, "GET /portal/team/invitations/{id}/delete", p.redirectTo("/portal/team")),
		memberRoute(access.Owner, "POST /portal/team/invitations/{id}/again", p.inviteAgain),
		memberRoute(access.Viewer, "GET /portal/team/invitations/{id}/again", p.redirectTo("/portal/team")),
		memberRoute(access.Owner, "POST /portal/team/users/{id}/role", ui.WithForm(p.changeRole)),
		memberRoute(access.Viewer, "GET /portal/team/users/{id}/role", p.redirectTo("/portal/team")),
		memberRoute(access.Owner, "GET /portal/team/users/{id}/remove", p.showRemoveUser),
		memberRoute(access.Owner, "POST /portal/team/users/{id}/remove", p.removeUser),
		memberRoute(access.Owner, "POST /portal/team/users/{id}/reset", p.resetPasswordOf),
		memberRoute(access.Viewer, "GET /portal/team/users/{id}/reset", p.redirectTo("/portal/team")),
		memberRoute(access.Owner, "POST /portal/team/users/{id}/second-factor", p.resetFactorOf),
		memberRoute(access.Viewer, "GET /portal/team/users/{id}/second-factor", p.redirectTo("/portal/team")),
		memberRoute(access.Owner, "POST /portal/team/locale", ui.WithForm(p.setLocale)),
		memberRoute(access.Viewer, "GET /portal/team/locale", p.redirectTo("/portal/team")),
	}
	for _, r := range p.signIn.Routes() {
		if r.Open != nil {
			routes = append(routes, route{pattern: r.Pattern, open: r.Open})
		} else {
			signed := signin.Signed[*service.Member](r.Signed)
			routes = append(routes, route{pattern: r.Pattern, role: access.Viewer, signed: signed})
		}
	}
	for _, env := range []access.Environment{access.Live, access.Test} {
		routes = append(routes, p.environmentRoutes(env)...)
	}
	return append(routes,
		memberRoute(access.Developer, "GET /portal/test/sandbox", p.in(access.Test, p.showSandbox)),
		memberRoute(access.Developer, "POST /portal/test/sandbox",
			p.in(access.Test, p.costly(ui.WithForm(p.createTestOrder)))),
		memberRoute(access.Developer, "POST /portal/test/balance", p.in(access.Test, ui.WithForm(p.setBalance))),
		memberRoute(access.Developer, "GET /portal/test/balance", p.redirectTo("/portal/test/sandbox")),
		memberRoute(access.Developer, "POST /portal/test/orders/{id}/state",
			p.in(access.Test, p.costly(ui.WithForm(p.simulateState)))),
		memberRoute(access.Viewer, "GET /portal/test/orders/{id}/state", p.in(access.Test, p.backToOrder)),
		memberRoute(access.Developer, "POST /portal/test/orders/{id}/delayed",
			p.in(access.Test, ui.WithForm(p.simulateDelay))),
		memberRoute(access.Viewer, "GET /portal/test/orders/{id}/delayed", p.in(access.Test, p.backToOrder)),
		memberRoute(access.Owner, "POST /portal/live/credits/notice", p.in(access.Live, ui.WithForm(p.setLowCredits))),
		memberRoute(access.Viewer, "GET /portal/live/credits/notice", p.redirectTo("/portal/live/credits")),
	)
}

// environmentRoutes are the pages that each environment has.
func (p *Portal) environmentRoutes(env access.Environment) []route {
	base := "/portal/" + string(env)
	in := func(role access.Role, method, path string, h visitorHandler) route {
		return memberRoute(role, method+" "+base+path, p.in(env, h))
	}
	return []route{
		in(access.Viewer, "GET", "", p.showOverview),
		in(access.Viewer, "GET", "/search", p.showSearch),
		in(access.Viewer, "GET", "/orders", p.showOrders),
		in(access.Viewer, "GET", "/orders.csv", p.exportOrders),
		in(access.Viewer, "GET", "/orders/{id}", p.showOrder),
		in(access.Developer, "GET", "/orders/{id}/cancel", p.showCancel),
		in(access.Developer, "POST", "/orders/{id}/cancel", p.cancelOrder),
		in(access.Developer, "POST", "/orders/{id}/photos", p.answerRequest),
		in(access.Viewer, "GET", "/orders/{id}/photos", p.backToOrder),
		in(access.Developer, "POST", "/orders/{id}/capture-link", ui.WithForm(p.createOrderCaptureLink)),
		in(access.Viewer, "GET", "/orders/{id}/capture-link", p.backToOrder),
		in(access.Viewer, "GET", capturePath, p.showCaptureLinks),
		in(access.Developer, "GET", capturePath+"/new", p.showNewCaptureLink),
		in(access.Developer, "POST", capturePath, ui.WithForm(p.createCaptureLink)),
		in(access.Viewer, "GET", capturePath+"/{id}", p.showCaptureLink),
		in(access.Developer, "GET", capturePath+"/{id}/revoke", p.showRevokeCaptureLink),
		in(access.Developer, "POST", capturePath+"/{id}/revoke", p.revokeCaptureLink),
		in(access.Viewer, "GET", "/webhooks", p.showWebhooks),
		in(access.Viewer, "GET", "/webhooks/{id}", p.showEndpoint),
		in(access.Developer, "POST", "/webhooks/{id}/pause", ui.WithForm(p.pauseEndpoint)),
		in(access.Viewer, "GET", "/webhooks/{id}/pause", p.backToEndpoint),
		in(access.Developer, "GET", "/webhooks/{id}/rotate", p.showRotateSecret),
		in(access.Developer, "POST", "/webhooks/{id}/rotate", ui.WithForm(p.rotateSecret)),
		in(access.Developer, "GET", "/webhooks/new", p.showNewEndpoint),
		in(access.Developer, "POST", "/webhooks", ui.WithForm(p.createEndpoint)),
		in(access.Developer, "GET", "/webhooks/{id}/delete", p.showDeleteEndpoint),
		in(access.Developer, "POST", "/webhooks/{id}/delete", p.deleteEndpoint),
		in(access.Developer, "POST", "/webhooks/{id}/test", p.costly(ui.WithForm(p.sendTestEvent))),
		in(access.Viewer, "GET", "/webhooks/{id}/test", p.backToEndpoint),
		in(access.Viewer, "GET", "/deliveries", p.showDeliveries),
		in(access.Developer, "POST", "/deliveries", p.costly(ui.WithForm(p.redeliverFailed))),
		in(access.Viewer, "GET", "/deliveries/{id}", p.showDelivery),
		in(access.Developer, "POST", "/deliveries/{id}/again", p.costly(p.redeliver)),
		in(access.Viewer, "GET", "/deliveries/{id}/again", p.backToDelivery),
		in(access.Viewer, "GET", "/requests", p.showRequests),
		in(access.Viewer, "GET", "/requests/{id}", p.showRequest),
		in(access.Viewer, "GET", "/credits", p.showCredits),
		in(access.Viewer, "GET", "/credits.csv", p.exportCredits),
	}
}

// redirectTo sends visitors on to another page.
func (p *Portal) redirectTo(path string) visitorHandler {
	return func(w http.ResponseWriter, r *http.Request, _ *visitor) error { return p.Site.Redirect(w, r, path) }
}
