// Package integration is the interface that marketplaces use, /v1/integrations: one table of routes, each with its
// scope and rate-limit category, and one handler file for each resource.
package integration

import (
	"net/http"
	"sync"
	"time"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

// Prefix is where the interface lives on the server.
const Prefix = "/v1/integrations"

// Config is what the interface works with.
type Config struct {
	Service       *service.Service
	Limiter       ratelimit.Limiter
	Failures      ratelimit.FailureCounter
	Staging       *media.Staging
	MaxPhotoBytes int64
	Responder     *httpx.Responder
	PublicURL     string // in the OpenAPI documents

	// Requests records every request of a valid key. Nil: none is recorded.
	Requests Recorder
}

// Recorder keeps requests for those who look for one. Add does not wait.
type Recorder interface{ Add(e requestlog.Entry) }

// API answers the requests of the interface.
type API struct {
	Config
	routes   []Route
	paths    *httpx.Paths
	pages    pageCache
	document func() api.Document
}

// Route is one operation of the interface.
type Route struct {
	Method   string
	Path     string // below Prefix; {id} stands for one segment
	Scope    access.Scope
	Category string // of the rate limit
	Timeout  time.Duration
	handle   func(http.ResponseWriter, *http.Request, *call) error
}

// call is one authenticated request of an operation.
type call struct {
	key     *access.Key
	id      string // the unescaped {id} of the path
	orderID string // of the order that the request turned out to be about
}

// actor returns the key of the request as the actor of a use case.
func (c *call) actor(r *http.Request) access.Actor {
	return c.key.Actor(access.Origin{IP: httpx.ClientIP(r), UserAgent: r.UserAgent()})
}

const (
	requestTimeout = 30 * time.Second
	uploadTimeout  = 10 * time.Minute
)

// New returns the interface.
func New(c Config) *API {
	a := &API{
		Config: c, paths: httpx.NewPaths(Prefix),
		document: sync.OnceValue(func() api.Document { return api.IntegrationAt(c.PublicURL) }),
	}
	a.routes = []Route{
		{Method: "GET", Path: "/catalog/categories", Category: ratelimit.Catalog, handle: a.rendered(a.listCategories)},
		{Method: "GET", Path: "/catalog/brands", Category: ratelimit.Catalog, handle: a.rendered(a.listBrands)},
		{Method: "GET", Path: "/catalog/models", Category: ratelimit.Catalog, handle: a.rendered(a.listModels)},
		{Method: "GET", Path: "/catalog/answer_times", Category: ratelimit.Catalog, handle: a.listAnswerTimes},
		{
			Method: "GET", Path: "/catalog/photo_indexes", Category: ratelimit.Catalog, handle: a.rendered(a.listPhotoIndexes),
		},
		{
			Method: "POST", Path: "/photos", Scope: access.OrdersWrite, Category: ratelimit.Upload, Timeout: uploadTimeout,
			handle: a.uploadPhotos,
		},
		{Method: "GET", Path: "/balance", Category: ratelimit.Read, handle: a.getBalance},
		{Method: "POST", Path: "/orders", Scope: access.OrdersWrite, Category: ratelimit.Create, handle: a.createOrder},
		{Method: "GET", Path: "/orders", Scope: access.OrdersRead, Category: ratelimit.Read, handle: a.listOrders},
		{Method: "GET", Path: "/orders/{id}", Scope: access.OrdersRead, Category: ratelimit.Read, handle: a.getOrder},
		{
			Method: "POST", Path: "/orders/{id}/update_photos", Scope: access.OrdersWrite, Category: ratelimit.Update,
			handle: a.submitUpdatePhotos,
		},
		{
			Method: "POST", Path: "/orders/{id}/cancel", Scope: access.OrdersWrite, Category: ratelimit.Update,
			handle: a.cancelOrder,
		},
		{
			Method: "POST", Path: "/orders/{id}/simulate", Scope: access.OrdersWrite, Category: ratelimit.Update,
			handle: a.simulateOrder,
		},
		{Method: "POST", Path: "/quote", Category: ratelimit.Catalog, handle: a.quote},
		{Method: "GET", Path: "/me", Category: ratelimit.Read, handle: a.getMe},
		{Method: "GET", Path: "/events", Scope: access.OrdersRead, Category: ratelimit.Read, handle: a.listEvents},
		{
			Method: "POST", Path: "/capture_links", Scope: access.OrdersWrite, Category: ratelimit.Create,
			handle: a.createCaptureLink,
		},
		{
			Method: "GET", Path: "/capture_links/{id}", Scope: access.OrdersRead, Category: ratelimit.Read,
			handle: a.getCaptureLink,
		},
		{
			Method: "DELETE", Path: "/capture_links/{id}", Scope: access.OrdersWrite, Category: ratelimit.Update,
			handle: a.revokeCaptureLink,
		},
		{Method: "GET", Path: "/audit/events", Scope: access.AuditRead, Category: ratelimit.Read, handle: a.listAuditEvents},
		{
			Method: "POST", Path: "/webhooks", Scope: access.WebhooksManage, Category: ratelimit.Webhook,
			handle: a.createWebhook,
		},
		{Method: "GET", Path: "/webhooks", Scope: access.WebhooksManage, Category: ratelimit.Webhook, handle: a.listWebhooks},
		{
			Method: "DELETE", Path: "/webhooks/{id}", Scope: access.WebhooksManage, Category: ratelimit.Webhook,
			handle: a.deleteWebhook,
		},
		{
			Method: "PATCH", Path: "/webhooks/{id}", Scope: access.WebhooksManage, Category: ratelimit.Webhook,
			handle: a.updateWebhook,
		},
		{
			Method: "POST", Path: "/webhooks/{id}/rotate_secret", Scope: access.WebhooksManage, Category: ratelimit.Webhook,
			handle: a.rotateSecret,
		},
	}
	for i := range a.routes {
		r := &a.routes[i]
		a.paths.Add(r.Method, r.Path)
		if r.Timeout == 0 {
			r.Timeout = requestTimeout
		}
	}
	for _, path := range []string{documentPath, document30Path} {
		a.paths.Add("GET", path) // answered before the key is looked at, in serveDocument
	}
	return a
}

// Routes returns the table of operations.
func (a *API) Routes() []Route { return a.routes }

// Operations returns the operations as the request log names them.
func (a *API) Operations() []string {
	names := make([]string, len(a.routes))
	for i, r := range a.routes {
		names[i] = r.Method + " " + Prefix + r.Path
	}
	return names
}

// Categories returns the category of limits of every operation, by its name in Operations.
func (a *API) Categories() map[string]string {
	categories := make(map[string]string, len(a.routes))
	for i, name := range a.Operations() {
		categories[name] = a.routes[i].Category
	}
	return categories
}

// ServeHTTP answers every request below Prefix.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.serveDocument(w, r) {
		return
	}
	rec, c := httpx.Record(w), new(call)
	if a.Requests != nil {
		defer a.record(rec, r, c)
	}
	if err := a.serve(rec, r, c); err != nil {
		a.Responder.Fail(rec, r, err)
	}
}

// serve checks in the order that integrators are told: authentication, route, rate limit, scope. The handler then
// checks the body and the rules.
func (a *API) serve(w http.ResponseWriter, r *http.Request, c *call) error {
	key, err := a.authenticate(r)
	if err != nil {
		return err
	}
	c.key = key
	row, id, err := a.paths.Find(w, r)
	if err != nil {
		return err
	}
	c.id = id
	route := &a.routes[row]
	if err := a.take(w, r, key, route.Category); err != nil {
		return err
	}
	if !key.Allows(route.Scope) {
		return access.MissingScope(route.Scope)
	}
	return route.handle(w, httpx.Limit(route.Timeout, w, r), c)
}
