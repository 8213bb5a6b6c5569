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
	signed  func(http.ResponseWriter, *http.Request, *ui.Visitor[*service.Member]) error
	open    httpx.Handler
}

// as is a row for members with a role.
func as(role access.Role, pattern string, h visitorHandler) route {
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
		as(access.Viewer, "GET /portal", p.goHome),
		as(access.Viewer, "GET /portal/keys", p.showKeys),
		as(access.Developer, "GET /portal/keys/new", p.showNewKey),
		as(access.Developer, "POST /portal/keys", ui.WithForm(p.createKey)),
		as(access.Viewer, "GET /portal/keys/{id}", p.showKey),
		as(access.Developer, "GET /portal/keys/{id}/rename", p.showRenameKey),
		as(access.Developer, "POST /portal/keys/{id}/rename", ui.WithForm(p.renameKey)),
		as(access.Developer, "GET /portal/keys/{id}/networks", p.showNetworks),
		as(access.Developer, "POST /portal/keys/{id}/networks", ui.WithForm(p.setNetworks)),
		as(access.Developer, "GET /portal/keys/{id}/revoke", p.showRevokeKey),
		as(access.Developer, "POST /portal/keys/{id}/revoke", p.revokeKey),

		as(access.Viewer, "GET /portal/audit", auditLog.of(p.showLog)),
		as(access.Viewer, "GET /portal/audit.csv", auditLog.of(p.exportLog)),
		as(access.Viewer, "GET /portal/audit/{seq}", auditLog.of(p.showLogEvent)),
		as(access.Owner, "GET /portal/activity", activityLog.of(p.showLog)),
		as(access.Owner, "GET /portal/activity.csv", activityLog.of(p.exportLog)),
		as(access.Owner, "GET /portal/activity/{seq}", activityLog.of(p.showLogEvent)),
		as(access.Viewer, "GET /portal/start", p.showStart),
		as(access.Viewer, "GET /portal/verify", p.showVerify),
		as(access.Viewer, "GET /portal/requests/{id}", p.goToRequest),
		as(access.Viewer, "GET /portal/photos/{name}/{size}", p.servePhoto),

		as(access.Viewer, "GET /portal/team", p.showTeam),
		as(access.Owner, "POST /portal/team", ui.WithForm(p.invite)),
		as(access.Owner, "POST /portal/team/invitations/{id}/delete", p.uninvite),
		as(access.Viewer, "GET /portal/team/invitations/{id}/delete", p.lead("/portal/team")),
		as(access.Owner, "POST /portal/team/invitations/{id}/again", p.inviteAgain),
		as(access.Viewer, "GET /portal/team/invitations/{id}/again", p.lead("/portal/team")),
		as(access.Owner, "POST /portal/team/users/{id}/role", ui.WithForm(p.changeRole)),
		as(access.Viewer, "GET /portal/team/users/{id}/role", p.lead("/portal/team")),
		as(access.Owner, "GET /portal/team/users/{id}/remove", p.showRemoveUser),
		as(access.Owner, "POST /portal/team/users/{id}/remove", p.removeUser),
		as(access.Owner, "POST /portal/team/users/{id}/reset", p.resetPasswordOf),
		as(access.Viewer, "GET /portal/team/users/{id}/reset", p.lead("/portal/team")),
		as(access.Owner, "POST /portal/team/users/{id}/second-factor", p.resetFactorOf),
		as(access.Viewer, "GET /portal/team/users/{id}/second-factor", p.lead("/portal/team")),
		as(access.Owner, "POST /portal/team/locale", ui.WithForm(p.setLocale)),
		as(access.Viewer, "GET /portal/team/locale", p.lead("/portal/team")),
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
		as(access.Developer, "GET /portal/test/sandbox", p.in(access.Test, p.showSandbox)),
		as(access.Developer, "POST /portal/test/sandbox", p.in(access.Test, ui.WithForm(p.createTestOrder))),
		as(access.Developer, "POST /portal/test/balance", p.in(access.Test, ui.WithForm(p.setBalance))),
		as(access.Developer, "GET /portal/test/balance", p.lead("/portal/test/sandbox")),
		as(access.Developer, "POST /portal/test/orders/{id}/state", p.in(access.Test, ui.WithForm(p.simulateState))),
		as(access.Viewer, "GET /portal/test/orders/{id}/state", p.in(access.Test, p.backToOrder)),
		as(access.Developer, "POST /portal/test/orders/{id}/delayed", p.in(access.Test, ui.WithForm(p.simulateDelay))),
		as(access.Viewer, "GET /portal/test/orders/{id}/delayed", p.in(access.Test, p.backToOrder)),
		as(access.Owner, "POST /portal/live/credits/notice", p.in(access.Live, ui.WithForm(p.setLowCredits))),
		as(access.Viewer, "GET /portal/live/credits/notice", p.lead("/portal/live/credits")),
	)
}

// environmentRoutes are the pages that each environment has.
func (p *Portal) environmentRoutes(env access.Environment) []route {
	base := "/portal/" + string(env)
	in := func(role access.Role, method, path string, h visitorHandler) route {
		return as(role, method+" "+base+path, p.in(env, h))
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
		in(access.Developer, "POST", "/webhooks/{id}/test", ui.WithForm(p.sendTestEvent)),
		in(access.Viewer, "GET", "/webhooks/{id}/test", p.backToEndpoint),
		in(access.Viewer, "GET", "/deliveries", p.showDeliveries),
		in(access.Developer, "POST", "/deliveries", ui.WithForm(p.redeliverFailed)),
		in(access.Viewer, "GET", "/deliveries/{id}", p.showDelivery),
		in(access.Developer, "POST", "/deliveries/{id}/again", p.redeliver),
		in(access.Viewer, "GET", "/deliveries/{id}/again", p.backToDelivery),
		in(access.Viewer, "GET", "/requests", p.showRequests),
		in(access.Viewer, "GET", "/requests/{id}", p.showRequest),
		in(access.Viewer, "GET", "/credits", p.showCredits),
		in(access.Viewer, "GET", "/credits.csv", p.exportCredits),
	}
}

// lead sends visitors on to another page.
func (p *Portal) lead(to string) visitorHandler {
	return func(w http.ResponseWriter, r *http.Request, _ *visitor) error { return p.Site.Redirect(w, r, to) }
}
