// Package integration is the API that marketplaces use, /v1/integrations: one table of routes, each with its
// scope and rate-limit category, and one handler file for each resource.
package integration

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/assayhq/assay/api"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/requestlog"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/httpx/input"
	"github.com/assayhq/assay/internal/media"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/service"
)

// Prefix is where the API is on the server.
const Prefix = "/v1/integrations"

// Config is what the API works with.
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

// API answers requests.
type API struct {
	Config
	routes   []Route
	paths    *httpx.Paths
	pages    pageCache
	document func() api.Document
}

// Route is one operation of the API.
type Route struct {
	Method   string
	Path     string // below Prefix; {id} stands for one segment
	Scope    access.Scope
	Category string // of the rate limit
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

// New returns the API.
func New(c Config) *API {
	a := &API{
		Config: c, paths: httpx.NewPaths(Prefix),
		document: sync.OnceValue(func() api.Document { return api.IntegrationAt(c.PublicURL) }),
	}
	a.routes = []Route{
		{"GET", "/catalog/categories", "", ratelimit.Catalog, a.rendered(a.listCategories)},
		{"GET", "/catalog/brands", "", ratelimit.Catalog, a.rendered(a.listBrands)},
		{"GET", "/catalog/models", "", ratelimit.Catalog, a.rendered(a.listModels)},
		{"GET", "/catalog/answer_times", "", ratelimit.Catalog, a.listAnswerTimes},
		{"GET", "/catalog/photo_indexes", "", ratelimit.Catalog, a.rendered(a.listPhotoIndexes)},
		{"POST", "/photos", access.OrdersWrite, ratelimit.Upload, a.uploadPhotos},
		{"GET", "/balance", "", ratelimit.Read, a.getBalance},
		{"POST", "/orders", access.OrdersWrite, ratelimit.Create, a.createOrder},
		{"GET", "/orders", access.OrdersRead, ratelimit.Read, a.listOrders},
		{"GET", "/orders/{id}", access.OrdersRead, ratelimit.Read, a.getOrder},
		{"POST", "/orders/{id}/update_photos", access.OrdersWrite, ratelimit.Update, a.submitUpdatePhotos},
		{"POST", "/orders/{id}/cancel", access.OrdersWrite, ratelimit.Update, a.cancelOrder},
		{"POST", "/orders/{id}/simulate", access.OrdersWrite, ratelimit.Update, a.simulateOrder},
		{"POST", "/quote", "", ratelimit.Catalog, a.quote},
		{"GET", "/me", "", ratelimit.Read, a.getMe},
		{"GET", "/events", access.OrdersRead, ratelimit.Read, a.listEvents},
		{"POST", "/capture_links", access.OrdersWrite, ratelimit.Create, a.createCaptureLink},
		{"GET", "/capture_links/{id}", access.OrdersRead, ratelimit.Read, a.getCaptureLink},
		{"DELETE", "/capture_links/{id}", access.OrdersWrite, ratelimit.Update, a.revokeCaptureLink},
		{"GET", "/audit/events", access.AuditRead, ratelimit.Read, a.listAuditEvents},
		{"POST", "/webhooks", access.WebhooksManage, ratelimit.Webhook, a.createWebhook},
		{"GET", "/webhooks", access.WebhooksManage, ratelimit.Webhook, a.listWebhooks},
		{"DELETE", "/webhooks/{id}", access.WebhooksManage, ratelimit.Webhook, a.deleteWebhook},
		{"PATCH", "/webhooks/{id}", access.WebhooksManage, ratelimit.Webhook, a.updateWebhook},
		{"POST", "/webhooks/{id}/rotate_secret", access.WebhooksManage, ratelimit.Webhook, a.rotateSecret},
	}
	for i := range a.routes {
		a.paths.Add(a.routes[i].Method, a.routes[i].Path)
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
	timeout := requestTimeout
	if route.Category == ratelimit.Upload {
		timeout = uploadTimeout
	}
	return route.handle(w, httpx.Limit(timeout, w, r), c)
}

// authenticate returns the key of a request.
func (a *API) authenticate(r *http.Request) (*access.Key, error) {
	key, err := a.Service.Authenticate(r.Context(), httpx.Bearer(r), httpx.ClientIP(r))
	if fault.CodeOf(err) == access.Unauthenticated.Code {
		return nil, httpx.CountFailure(a.Failures, r, err)
	}
	return key, err
}

// readBody reads a JSON body. The key has to be valid when it has come in, too: a slow one may outlast the key.
func (a *API) readBody(r *http.Request) ([]byte, error) {
	body, err := input.ReadBody(r)
	if err == nil {
		_, err = a.authenticate(r)
	}
	return body, err
}

// readObject is readBody for an object.
func (a *API) readObject(r *http.Request) (input.Object, error) {
	body, err := a.readBody(r)
	if err != nil {
		return input.Object{}, err
	}
	return input.ParseObject(body)
}

// take counts the request against the key's quota of a category and tells the quota in the response's headers.
func (a *API) take(w http.ResponseWriter, r *http.Request, key *access.Key, category string) error {
	d, err := a.Limiter.Take(r.Context(), key.ID, category, ratelimit.LimitOf(key.Limits, category))
	if err != nil {
		return fault.UnavailableError(err)
	}
	h := w.Header()
	values := []string{strconv.Itoa(d.Limit), strconv.Itoa(d.Remaining)}
	h["X-RateLimit-Limit"], h["X-RateLimit-Remaining"] = values[:1:1], values[1:]
	if d.Allowed {
		return nil
	}
	return fault.New(fault.RateLimited, fault.CodeRateLimited, "Rate limit exceeded").
		With("category", category).With("limit", d.Limit).With("window_seconds", int(ratelimit.Window.Seconds())).
		With("retry_after_seconds", httpx.RetrySeconds(d.RetryAfter)).After(d.RetryAfter)
}

// The OpenAPI documents, which anybody may read, without a key.
const (
	documentPath   = "/openapi.json"
	document30Path = "/openapi-3.0.json"
)

// serveDocument answers a request for an OpenAPI document, and reports whether it was one.
func (a *API) serveDocument(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	var body []byte
	switch httpx.EscapedPath(r) {
	case Prefix + documentPath:
		body = a.document().JSON
	case Prefix + document30Path:
		body = a.document().JSON30
	default:
		return false
	}
	httpx.SetRoute(r.Context(), "GET "+r.URL.Path)
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	httpx.WriteRaw(w, http.StatusOK, body)
	return true
}
