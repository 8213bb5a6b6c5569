package desk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/api/apitest"
	"github.com/assayhq/assay/internal/api/desk"
	"github.com/assayhq/assay/internal/demo"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/photo"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/uuid7"
	"github.com/assayhq/assay/internal/testkit/fakeclock"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
)

// world is a desk over a fresh database with the demonstration catalog, two reviewers, an administrator and a customer.
type world struct {
	Store    *store.Store
	Service  *service.Service
	Clock    *fakeclock.Clock
	Contract *apitest.Validator
	Wakings  atomic.Int64 // of the sender of webhooks
	server   *httptest.Server

	Mika, Ren, Admin *service.NewStaff
	Customer         customer
}

// customer is an account with its keys and photos to order with.
type customer struct {
	Account    *access.Account
	Live, Test *access.Key
	LiveSecret string
	URLs       map[access.Environment][]string
	Credits    int64
}

var start = time.Date(2025, 11, 15, 2, 0, 0, 0, time.UTC)

const (
	answerTime   = 60 // always open
	price        = 12 // of that
	failureLimit = 100
)

// each runs the test on both engines.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, newWorld(t, s)) })
}

func newWorld(t *testing.T, s *store.Store, change ...func(*service.Config, *desk.Config)) *world {
	t.Helper()
	w := &world{Store: s, Clock: fakeclock.New(start), Contract: apitest.NewDesk(t)}
	urls, err := photo.NewURLs("https://media.example.com/media")
	must.NoError(t, err)
	box, err := secret.New(shop.SecretKey)
	must.NoError(t, err)
	config := service.Config{
		Store: s, Secrets: box, Now: w.Clock.Now, MediaURLs: urls, PublicURL: "https://assay.example.com",
		Log: slog.New(slog.DiscardHandler), OnDeliveries: func() { w.Wakings.Add(1) },
	}
	machine := desk.Config{
		Failures:  ratelimit.NewFailures(failureLimit, w.Clock.Now),
		Limiter:   ratelimit.NewMemory(w.Clock.Now),
		Responder: &httpx.Responder{Log: slog.New(slog.DiscardHandler), Now: w.Clock.Now},
	}
	for _, f := range change {
		f(&config, &machine)
	}
	w.Service = service.New(config)
	machine.Service = w.Service
	_, err = w.Service.ImportCatalog(t.Context(), access.System, demo.Catalog)
	must.NoError(t, err)
	w.server = httptest.NewServer(httpx.RequestID(desk.New(machine)))
	t.Cleanup(w.server.Close)
	w.Mika = w.staff(t, "mika@example.com", "Mika Sato", access.Reviewer)
	w.Ren = w.staff(t, "ren@example.com", "Ren Ito", access.Reviewer)
	w.Admin = w.staff(t, "aoi@example.com", "Aoi Mori", access.Admin)
	w.Customer = w.newCustomer(t, "Acme")
	return w
}

// staff makes a staff user without a password: to hash one takes longer than most tests.
func (w *world) staff(t *testing.T, email, name string, role access.StaffRole) *service.NewStaff {
	t.Helper()
	n := &service.NewStaff{Token: access.NewStaffToken()}
	n.Staff = access.Staff{ID: uuid7.New(), Email: email, Name: name, Role: role, PasswordHash: "-", CreatedAt: start}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		return tx.InsertStaff(&n.Staff, store.StaffToken{Hash: access.HashSecretKey(n.Token)})
	}))
	return n
}

// newCustomer makes an account with 10,000 Live credits, a key of each environment, a webhook endpoint for the Live key
// and photos.
func (w *world) newCustomer(t *testing.T, name string) customer {
	t.Helper()
	ctx := t.Context()
	n, err := w.Service.CreateAccount(ctx, access.System, name, strings.ToLower(name)+"@example.com", text.Japanese)
	must.NoError(t, err)
	c := customer{Account: &n.Account, URLs: make(map[access.Environment][]string), Credits: 10_000}
	_, err = w.Service.GrantCredits(ctx, access.System, access.Tenant{AccountID: c.Account.ID, Environment: access.Live},
		c.Credits, "for tests")
	must.NoError(t, err)
	key := func(env access.Environment) (*access.Key, string) {
		k, secret, err := w.Service.CreateKey(ctx, access.Operator, service.NewKey{
			Tenant: access.Tenant{AccountID: c.Account.ID, Environment: env}, Name: "Shop backend", Scopes: access.AllScopes,
		})
		must.NoError(t, err)
		return k, secret
	}
	c.Live, c.LiveSecret = key(access.Live)
	c.Test, _ = key(access.Test)
	endpoint := &webhook.Endpoint{
		ID: uuid7.New(), Tenant: c.Live.Tenant, APIKeyID: c.Live.ID,
		URL: "https://shop.example.com/hook", Events: webhook.Events, CreatedAt: start, SealedSecret: "sealed",
	}
	must.NoError(t, w.Store.Update(ctx, func(tx *store.Tx) error {
		for _, env := range access.Environments {
			rows := make([]photo.Stored, 4)
			for i := range rows {
				rows[i] = photo.Stored{
					Name: photo.NewName(photo.JPEG), SHA256: "-", Bytes: 1, Width: 1, Height: 1, CreatedAt: start,
					Tenant: access.Tenant{AccountID: c.Account.ID, Environment: env},
				}
				c.URLs[env] = append(c.URLs[env], w.Service.PhotoURL(rows[i].Name))
			}
			if err := tx.InsertPhotos(rows); err != nil {
				return err
			}
		}
		return tx.InsertEndpoint(endpoint, endpoint.URL)
	}))
	return c
}

// create makes an order of the customer and returns its id. The mock outcome is empty for a Live order.
func (w *world) create(t testing.TB, c *customer, minutes int, mock order.MockOutcome) string {
	t.Helper()
	k := c.Live
	if mock != "" {
		k = c.Test
	}
	id, err := w.createWith(t.Context(), c, k, minutes, mock)
	must.NoError(t, err)
	return id
}

// createLive makes a Live order of the customer and returns its id, or the refusal.
func (w *world) createLive(ctx context.Context, c *customer, minutes int) (string, error) {
	return w.createWith(ctx, c, c.Live, minutes, "")
}

func (w *world) createWith(ctx context.Context, c *customer, k *access.Key, minutes int,
	mock order.MockOutcome,
) (string, error) {
	urls := c.URLs[k.Environment]
	created, err := w.Service.CreateOrder(ctx, k.Actor(access.Origin{}), &order.Draft{
		CategoryCode: "bags", BrandCode: "chanel", ExternalID: new("SKU-1"), AnswerTime: minutes, Mock: mock,
		MockGiven: mock != "",
		Photos: []order.DraftPhoto{
			{URL: urls[0], IndexCode: "overall-picture"},
			{URL: urls[1], IndexCode: "brand-stamp"},
			{URL: urls[2], IndexCode: "serial-number"},
		},
	}, nil)
	return created.OrderID, err
}

// queued makes a Live order.
func (w *world) queued(t testing.TB) string {
	t.Helper()
	return w.create(t, &w.Customer, answerTime, "")
}

// claimed makes a Live order that a staff user has claimed.
func (w *world) claimed(t *testing.T, who *service.NewStaff) string {
	t.Helper()
	id := w.queued(t)
	w.post(t, who, "/orders/"+id+"/claim", "").want(t, http.StatusOK, "")
	return id
}

const requestSerial = `{"photos":[{"index_code":"serial-number","condition":"unclear",
	"requirements":["sharp-focus"],"comment":"All digits, please."}]}`

// waiting makes a Live order for which a staff user has asked for photos of serial-number.
func (w *world) waiting(t *testing.T, who *service.NewStaff) string {
	t.Helper()
	id := w.claimed(t, who)
	w.post(t, who, "/orders/"+id+"/request_photos", requestSerial).want(t, http.StatusOK, "")
	return id
}

// submit answers the request for serial-number.
func (w *world) submit(t testing.TB, id string) error {
	t.Helper()
	_, err := w.Service.SubmitPhotos(t.Context(), w.Customer.Live.Actor(access.Origin{}), id, &order.Submission{
		Entries: []order.SubmissionEntry{{IndexCode: "serial-number", URL: &w.Customer.URLs[access.Live][3]}},
	})
	return err
}

// reply is an answer of the desk.
type reply struct {
	request string
	status  int
	header  http.Header
	body    map[string]any
}

func (w *world) get(t testing.TB, who *service.NewStaff, path string) *reply {
	t.Helper()
	return w.do(t, http.MethodGet, path, who.Token, "")
}

func (w *world) post(t testing.TB, who *service.NewStaff, path, body string) *reply {
	t.Helper()
	return w.do(t, http.MethodPost, path, who.Token, body)
}

// do sends a request and checks the answer against the OpenAPI document.
func (w *world) do(t testing.TB, method, path, token, body string, cookies ...*http.Cookie) *reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.server.URL+desk.Prefix+path,
		bytes.NewReader([]byte(body)))
	must.NoError(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for _, c := range cookies {
		req.AddCookie(c)
	}
	res, err := w.Contract.For(t).Transport(nil).RoundTrip(req)
	must.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must.NoError(t, err)
	r := &reply{request: method + " " + path, status: res.StatusCode, header: res.Header}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &r.body); err != nil {
			t.Fatalf("%s answered %d with %q: %v", r.request, r.status, raw, err)
		}
	}
	return r
}

// want ends the test unless the answer has the status and, for a refusal, the code.
func (r *reply) want(t testing.TB, status int, code string) *reply {
	t.Helper()
	if got, _ := r.body["code"].(string); r.status != status || got != code {
		t.Fatalf("%s: %d %s, want %d %s; body %v", r.request, r.status, got, status, code, r.body)
	}
	return r
}

// at returns what is at a path of keys and indexes of the body.
func (r *reply) at(path ...any) any {
	var v any = r.body
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func (r *reply) text(path ...any) string {
	s, _ := r.at(path...).(string)
	return s
}

func (r *reply) list(path ...any) []any {
	l, _ := r.at(path...).([]any)
	return l
}

// fields returns the fields that a validation error names.
func (r *reply) fields() []string {
	var fields []string
	for _, e := range r.list("details", "errors") {
		fields = append(fields, e.(map[string]any)["field"].(string))
	}
	return fields
}

// events returns the events in the timeline of an order that the desk has answered with.
func (r *reply) events() []string {
	var events []string
	for _, e := range r.list("timeline") {
		events = append(events, e.(map[string]any)["event"].(string))
	}
	return events
}

// deliveries returns the bodies in the outbox for an order, the oldest first.
func (w *world) deliveries(t testing.TB, orderID string) []map[string]any {
	t.Helper()
	found, err := w.Store.Deliveries(t.Context(), webhook.DeliveryFilter{OrderID: orderID}, 100)
	must.NoError(t, err)
	bodies := make([]map[string]any, len(found))
	for i, d := range found {
		whole, err := w.Store.Delivery(t.Context(), d.ID)
		must.NoError(t, err)
		must.NoError(t, json.Unmarshal(whole.Body, &bodies[len(found)-1-i]))
	}
	return bodies
}

func (w *world) balance(t testing.TB, c *customer) int64 {
	t.Helper()
	credits, err := w.Store.Balance(t.Context(), c.Account.Tenant(access.Live))
	must.NoError(t, err)
	return credits
}
