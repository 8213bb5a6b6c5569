// Package desk is the interface that reviewers and programs judge orders with, /v1/desk: one table of routes, each with
// the role it needs. The pages of the desk are built on the same use cases.
package desk

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

// Prefix is where the interface lives on the server.
const Prefix = "/v1/desk"

// Config is what the interface works with.
type Config struct {
	Service   *service.Service
	Failures  *ratelimit.Failures // shared with the integration interface: an address is one address
	Responder *httpx.Responder
}

// API answers the requests of the interface.
type API struct {
	Config
	routes []Route
}

// Route is one operation of the interface.
type Route struct {
	Method   string
	Path     string           // below Prefix; {id} stands for one segment
	Role     access.StaffRole // that the operation needs; empty: any
	handle   func(http.ResponseWriter, *http.Request, *call) error
	segments []string
}

// call is one authenticated request of an operation.
type call struct {
	staff *access.Staff
	id    string // the unescaped {id} of the path
}

const requestTimeout = 30 * time.Second

// New returns the interface.
func New(c Config) *API {
	a := &API{Config: c}
	a.routes = []Route{
		{Method: "GET", Path: "/orders", handle: a.listOrders},
		{Method: "POST", Path: "/orders/next", handle: a.takeNext},
		{Method: "GET", Path: "/orders/{id}", handle: a.getOrder},
		{Method: "POST", Path: "/orders/{id}/claim", handle: a.claimOrder},
		{Method: "POST", Path: "/orders/{id}/release", handle: a.releaseOrder},
		{Method: "POST", Path: "/orders/{id}/request_photos", handle: a.requestPhotos},
		{Method: "POST", Path: "/orders/{id}/complete", handle: a.completeOrder},
		{Method: "POST", Path: "/orders/{id}/fail", handle: a.failOrder},
		{Method: "POST", Path: "/orders/{id}/cancel", Role: access.Admin, handle: a.cancelOrder},
		{Method: "GET", Path: "/reasons", handle: a.listReasons},
	}
	for i := range a.routes {
		a.routes[i].segments = strings.Split(a.routes[i].Path[1:], "/")
	}
	return a
}

// Routes returns the table of operations.
func (a *API) Routes() []Route { return a.routes }

// ServeHTTP answers every request below Prefix.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.Responder.Handle(a.serve).ServeHTTP(w, r)
}

// serve checks authentication, route and role. The handler then checks the body and, through the use case, the order:
// that it exists, that its state allows the move, that nobody else holds it, and what the body says of it.
func (a *API) serve(w http.ResponseWriter, r *http.Request) error {
	staff, err := a.authenticate(r)
	if err != nil {
		return err
	}
	route, id := a.match(r)
	if route == nil {
		return errNoRoute
	}
	httpx.SetRoute(r.Context(), route.Method+" "+Prefix+route.Path)
	if !staff.Allows(route.Role) {
		return access.MissingRole(route.Role)
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	return route.handle(w, r.WithContext(ctx), &call{staff: staff, id: id})
}

var errNoRoute = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such operation: check the method and the path.")

// authenticate returns the staff user of a request. An address with too many failures is told to wait instead; a valid
// token from the same address is not affected.
func (a *API) authenticate(r *http.Request) (*access.Staff, error) {
	staff, err := a.Service.AuthenticateStaff(r.Context(), bearer(r))
	if fault.CodeOf(err) != access.StaffUnauthenticated.Code {
		return staff, err
	}
	address := httpx.ClientIP(r)
	if wait, blocked := a.Failures.Blocked(address); blocked {
		return nil, fault.New(fault.RateLimited, fault.CodeRateLimited, "Too many failed authentications from this address.").
			With("retry_after_seconds", httpx.RetrySeconds(wait)).After(wait)
	}
	a.Failures.Failed(address)
	return nil, err
}

// bearer returns the token of the Authorization header, or "".
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// match finds the operation of a request. Paths are compared segment by segment in their escaped form; nothing is
// cleaned or redirected.
func (a *API) match(r *http.Request) (*Route, string) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), Prefix+"/")
	if !ok {
		return nil, ""
	}
	segments := strings.Split(path, "/")
	for i := range a.routes {
		route := &a.routes[i]
		if route.Method != r.Method {
			continue
		}
		if id, ok := route.matches(segments); ok {
			return route, id
		}
	}
	return nil, ""
}

func (r *Route) matches(path []string) (id string, ok bool) {
	if len(path) != len(r.segments) {
		return "", false
	}
	for i, want := range r.segments {
		switch {
		case want == "{id}":
			unescaped, err := url.PathUnescape(path[i])
			if err != nil || unescaped == "" {
				return "", false
			}
			id = unescaped
		case want != path[i]:
			return "", false
		}
	}
	return id, true
}
