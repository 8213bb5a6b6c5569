// Package desk is the desk API, /v1/desk, with which programs judge orders: one table of routes, each with the role it
// needs. The pages of the desk are built on the same use cases.
package desk

import (
	"net/http"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

// Prefix is the path of the API on the server.
const Prefix = "/v1/desk"

// Config is what the API works with.
type Config struct {
	Service   *service.Service
	Failures  ratelimit.FailureCounter // shared with the integration API: an address is one address
	Limiter   ratelimit.Limiter        // counts the requests of a token
	RateLimit int                      // requests per minute of a token; 0: no limit
	Responder *httpx.Responder
}

// API answers the requests of the API.
type API struct {
	Config
	routes []Route
	paths  *httpx.Paths
}

// Route is one operation of the API.
type Route struct {
	Method string
	Path   string           // below Prefix; {id} stands for one segment
	Role   access.StaffRole // that the operation needs; empty: any
	handle handler
}

type handler = func(http.ResponseWriter, *http.Request, *call) error

// call is one authenticated request of an operation.
type call struct {
	actor access.Actor
	id    string // the unescaped {id} of the path
	role  access.StaffRole
}

const requestTimeout = 30 * time.Second

// New returns the API.
func New(c Config) *API {
	a, s := &API{Config: c, paths: httpx.NewPaths(Prefix)}, c.Service
	a.routes = []Route{
		{Method: "GET", Path: "/orders", handle: a.listOrders},
		{Method: "POST", Path: "/orders/next", handle: a.takeNext},
		{Method: "GET", Path: "/orders/{id}", handle: a.onOrder(withoutBody(s.OrderForReview))},
		{Method: "POST", Path: "/orders/{id}/claim", handle: a.onOrder(withoutBody(s.ClaimOrder))},
		{Method: "POST", Path: "/orders/{id}/release", handle: a.onOrder(withoutBody(s.ReleaseOrder))},
		{Method: "POST", Path: "/orders/{id}/request_photos", handle: a.onOrder(withBody(a, readRequest, s.RequestPhotos))},
		{Method: "POST", Path: "/orders/{id}/complete", handle: a.onOrder(withBody(a, readVerdict, a.complete))},
		{Method: "POST", Path: "/orders/{id}/fail", handle: a.onOrder(withBody(a, readNote, s.FailOrder))},
		{Method: "POST", Path: "/orders/{id}/cancel", Role: access.Admin, handle: a.onOrder(withBody(a, readNote, a.cancel))},
		{Method: "GET", Path: "/reasons", handle: a.listReasons},
	}
	for i := range a.routes {
		a.paths.Add(a.routes[i].Method, a.routes[i].Path)
	}
	return a
}

// Routes returns the table of operations.
func (a *API) Routes() []Route { return a.routes }

// ServeHTTP answers every request below Prefix.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.Responder.Handle(a.serve).ServeHTTP(w, r)
}

// serve checks authentication, route, rate limit and role. The handler then checks the body and, through the use case,
// the order: that it exists, that its state allows the move, that nobody else holds it, and what the body says of it.
func (a *API) serve(w http.ResponseWriter, r *http.Request) error {
	staff, err := a.authenticate(r)
	if err != nil {
		return err
	}
	row, id, err := a.paths.Find(w, r)
	if err != nil {
		return err
	}
	if err := a.count(r, staff); err != nil {
		return err
	}
	c := &call{id: id, role: a.routes[row].Role}
	if err := c.by(staff, r); err != nil {
		return err
	}
	return a.routes[row].handle(w, httpx.Limit(requestTimeout, w, r), c)
}

// by notes who calls, or refuses who lacks the role.
func (c *call) by(staff *access.Staff, r *http.Request) error {
	if !staff.Allows(c.role) {
		return access.MissingRole(c.role)
	}
	c.actor = staff.Actor(access.Origin{IP: httpx.ClientIP(r), UserAgent: r.UserAgent()})
	c.actor.Token = true
	return nil
}

// again authenticates a call when its body has come in: a slow one may outlast the token, the role or the person.
func (a *API) again(r *http.Request, c *call) error {
	staff, err := a.authenticate(r)
	if err != nil {
		return err
	}
	return c.by(staff, r)
}

// authenticate returns the staff user of a request.
func (a *API) authenticate(r *http.Request) (*access.Staff, error) {
	staff, err := a.Service.AuthenticateStaff(r.Context(), httpx.Bearer(r), httpx.ClientIP(r))
	if fault.CodeOf(err) == access.StaffUnauthenticated.Code {
		return nil, httpx.CountFailure(a.Failures, r, err)
	}
	return staff, err
}

// limitCategory is what requests of a token are counted under.
const limitCategory = "desk"

// count refuses a token that asks for more than one program can need: a loop that ran away, say.
func (a *API) count(r *http.Request, staff *access.Staff) error {
	if a.RateLimit <= 0 {
		return nil
	}
	d, err := a.Limiter.Take(r.Context(), staff.ID, limitCategory, a.RateLimit)
	if err != nil || d.Allowed {
		return err
	}
	return fault.New(fault.RateLimited, fault.CodeRateLimited, "Too many requests with this token.").
		With("retry_after_seconds", httpx.RetrySeconds(d.RetryAfter)).After(d.RetryAfter)
}
