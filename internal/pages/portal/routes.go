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

// environmentHandler serves a page that shows one environment.
type environmentHandler = func(http.ResponseWriter, *http.Request, *visitor, access.Environment) error

// withForm adapts a page of an environment that is given the form of the request.
func withForm(
	h func(http.ResponseWriter, *http.Request, *visitor, access.Environment, *ui.Form) error,
) environmentHandler {
	return func(w http.ResponseWriter, r *http.Request, who *visitor, env access.Environment) error {
		form, err := ui.ReadForm(w, r)
		if err != nil {
			return err
		}
		return h(w, r, who, env, form)
	}
}

// route is one address with the least powerful role that may use it; open pages have none.
type route struct {
	pattern string
	role    access.Role
	signed  visitorHandler
	open    httpx.Handler
}

// table lists all pages. The role on the row is what the use cases behind it demand, too.
func (p *Portal) table() []route {
	as := func(role access.Role, pattern string, h visitorHandler) route {
		return route{pattern: pattern, role: role, signed: h}
	}
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
		as(access.Owner, "POST /portal/team/invitations/{id}/again", p.inviteAgain),
		as(access.Owner, "POST /portal/team/users/{id}/role", ui.WithForm(p.changeRole)),
		as(access.Owner, "GET /portal/team/users/{id}/remove", p.showRemoveUser),
		as(access.Owner, "POST /portal/team/users/{id}/remove", p.removeUser),
		as(access.Owner, "POST /portal/team/users/{id}/reset", p.resetPasswordOf),
		as(access.Owner, "POST /portal/team/users/{id}/second-factor", p.resetFactorOf),
		as(access.Owner, "POST /portal/team/locale", ui.WithForm(p.setLocale)),
	}
	for _, r := range p.signIn.Routes() {
		if r.Open != nil {
			routes = append(routes, route{pattern: r.Pattern, open: r.Open})
		} else {
			routes = append(routes, as(access.Viewer, r.Pattern, signin.Signed[*service.Member](r.Signed)))
		}
	}
	for _, env := range []access.Environment{access.Live, access.Test} {
		routes = append(routes, p.environmentRoutes(env)...)
	}
	return append(routes,
		as(access.Developer, "GET /portal/test/sandbox", p.in(access.Test, p.showSandbox)),
		as(access.Developer, "POST /portal/test/sandbox", p.in(access.Test, withForm(p.createTestOrder))),
		as(access.Developer, "POST /portal/test/balance", p.in(access.Test, withForm(p.setBalance))),
		as(access.Developer, "GET /portal/test/balance", p.lead("/portal/test/sandbox")),
		as(access.Developer, "POST /portal/test/orders/{id}/state", p.in(access.Test, withForm(p.simulateState))),
		as(access.Developer, "POST /portal/test/orders/{id}/delayed", p.in(access.Test, withForm(p.simulateDelay))),
		as(access.Owner, "POST /portal/live/credits/notice", p.in(access.Live, withForm(p.setLowCredits))),
		as(access.Viewer, "GET /portal/live/credits/notice", p.lead("/portal/live/credits")),
	)
}

// environmentRoutes are the pages that each environment has.
func (p *Portal) environmentRoutes(env access.Environment) []route {
	base := "/portal/" + string(env)
	as := func(role access.Role, method, path string, h environmentHandler) route {
		return route{pattern: method + " " + base + path, role: role, signed: p.in(env, h)}
	}
	return []route{
		as(access.Viewer, "GET", "", p.showOverview),
		as(access.Viewer, "GET", "/search", p.showSearch),
		as(access.Viewer, "GET", "/orders", p.showOrders),
		as(access.Viewer, "GET", "/orders.csv", p.exportOrders),
		as(access.Viewer, "GET", "/orders/{id}", p.showOrder),
		as(access.Developer, "GET", "/orders/{id}/cancel", p.showCancel),
		as(access.Developer, "POST", "/orders/{id}/cancel", p.cancelOrder),
		as(access.Developer, "POST", "/orders/{id}/photos", p.answerRequest),
		as(access.Viewer, "GET", "/orders/{id}/photos", p.backToOrder),
		as(access.Developer, "POST", "/orders/{id}/capture-link", withForm(p.createOrderCaptureLink)),
		as(access.Viewer, "GET", "/orders/{id}/capture-link", p.backToOrder),
		as(access.Viewer, "GET", capturePath, p.showCaptureLinks),
		as(access.Developer, "GET", capturePath+"/new", p.showNewCaptureLink),
		as(access.Developer, "POST", capturePath, withForm(p.createCaptureLink)),
		as(access.Viewer, "GET", capturePath+"/{id}", p.showCaptureLink),
		as(access.Developer, "GET", capturePath+"/{id}/revoke", p.showRevokeCaptureLink),
		as(access.Developer, "POST", capturePath+"/{id}/revoke", p.revokeCaptureLink),
		as(access.Viewer, "GET", "/webhooks", p.showWebhooks),
		as(access.Viewer, "GET", "/webhooks/{id}", p.showEndpoint),
		as(access.Developer, "POST", "/webhooks/{id}/pause", withForm(p.pauseEndpoint)),
		as(access.Developer, "GET", "/webhooks/{id}/rotate", p.showRotateSecret),
		as(access.Developer, "POST", "/webhooks/{id}/rotate", p.rotateSecret),
		as(access.Developer, "GET", "/webhooks/new", p.showNewEndpoint),
		as(access.Developer, "POST", "/webhooks", withForm(p.createEndpoint)),
		as(access.Developer, "GET", "/webhooks/{id}/delete", p.showDeleteEndpoint),
		as(access.Developer, "POST", "/webhooks/{id}/delete", p.deleteEndpoint),
		as(access.Developer, "POST", "/webhooks/{id}/test", withForm(p.sendTestEvent)),
		as(access.Viewer, "GET", "/deliveries", p.showDeliveries),
		as(access.Developer, "POST", "/deliveries", withForm(p.redeliverFailed)),
		as(access.Viewer, "GET", "/deliveries/{id}", p.showDelivery),
		as(access.Developer, "POST", "/deliveries/{id}/again", p.redeliver),
		as(access.Viewer, "GET", "/requests", p.showRequests),
		as(access.Viewer, "GET", "/requests/{id}", p.showRequest),
		as(access.Viewer, "GET", "/credits", p.showCredits),
		as(access.Viewer, "GET", "/credits.csv", p.exportCredits),
	}
}

// lead sends visitors on to another page.
func (p *Portal) lead(to string) visitorHandler {
	return func(w http.ResponseWriter, r *http.Request, _ *visitor) error { return p.Site.Redirect(w, r, to) }
}
