package admin_test

import (
	"bytes"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/pages/admin"
	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/pages/ui/uitest"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// world is the pages of the desk and of administrators on a server, over a shop that has done business.
type world struct {
	*shop.Shop
	Admin  *admin.Admin
	Server *httptest.Server

	Mika, Aoi, Jun *access.Staff // a reviewer and two administrators
	Owner          *access.User
	Endpoint       *webhook.Endpoint
	stopped        bool // one of the workers has failed
}

// mediaURL is where photos would be served, for the content security policy.
const mediaURL = "https://media.example/m"

const password = "correct horse battery"

// passwordHash is made once: it takes longer than most tests.
var passwordHash = sync.OnceValue(func() string { return access.HashPassword(password) })

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Shop: shop.New(t, storetest.SQLite(t))}
	mux := http.NewServeMux()
	var handler http.Handler
	w.Server = httptest.NewServer(httpx.RequestID(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler.ServeHTTP(rw, r) })))
	t.Cleanup(w.Server.Close)
	box, err := secret.New(secret.Generate())
	check(t, err)
	site, err := ui.New(ui.Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: w.Clock.Now, Secrets: box, PublicURL: w.Server.URL, MediaURL: mediaURL,
	}, desk.Area, admin.Area)
	check(t, err)
	reviewers := desk.New(desk.Config{Site: site, Service: w.Service, Nav: admin.Nav(site)})
	t.Cleanup(reviewers.Close)
	w.Admin = admin.New(admin.Config{
		Site: site, Service: w.Service, Guard: reviewers.Guard(), Data: t.TempDir(), Started: w.Clock.Now(), Workers: w.workers, Settings: []admin.Setting{{Name: "public-url", Value: w.Server.URL}, {Name: "redis", Default: true}},
	})
	site.Routes(mux)
	reviewers.Routes(mux)
	w.Admin.Routes(mux)
	handler = site.Wrap(mux)
	w.Mika = w.staff(t, "mika@example.com", "Mika Sato", access.Reviewer)
	w.Aoi = w.staff(t, "aoi@example.com", "Aoi Mori", access.Admin)
	w.Jun = w.staff(t, "jun@example.com", "Jun Abe", access.Admin)
	w.Owner, err = w.Store.Owner(t.Context(), w.Account.ID)
	check(t, err)
	w.endpoint(t)
	return w
}

// workers is what a server would tell of its background work.
func (w *world) workers() []admin.Worker {
	failed := w.Clock.Now().Add(-time.Minute)
	return []admin.Worker{{Name: "deliver", Running: true, Since: w.Clock.Now().Add(-time.Hour)}, {Name: "mail", Running: !w.stopped, Since: failed, Failures: 2, FailedAt: &failed}}
}

func (w *world) staff(t *testing.T, email, name string, role access.StaffRole) *access.Staff {
	t.Helper()
	s := &access.Staff{ID: store.NewID(), Email: email, Name: name, Role: role, PasswordHash: passwordHash(), CreatedAt: w.Clock.Now()}
	check(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertStaff(s, access.HashSecretKey(access.NewStaffToken())) }))
	return s
}

// endpoint gives the Test key an endpoint, so that orders make deliveries.
func (w *world) endpoint(t *testing.T) {
	t.Helper()
	id := store.NewID()
	w.Endpoint = &webhook.Endpoint{
		ID: id, Tenant: w.Test.Tenant, APIKeyID: w.Test.ID, Name: "erp", URL: "https://erp.example/hook",
		Events: []webhook.Event{webhook.OrderOutcome, webhook.UpdatePhotos}, SealedSecret: w.Service.Secrets.Seal("s", id), CreatedAt: w.Clock.Now(),
	}
	check(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertEndpoint(w.Endpoint, w.Endpoint.URL) }))
}

// failed makes a Test order whose delivery fails, and returns the delivery's id.
func (w *world) failed(t *testing.T) string {
	t.Helper()
	id := w.Order(t, w.Test, order.MockAuthentic)
	found, err := w.Store.Deliveries(t.Context(), webhook.DeliveryFilter{OrderID: id}, 1)
	check(t, err)
	now := w.Clock.Now()
	due, err := w.Store.DueDeliveries(t.Context(), w.Endpoint.ID, store.Place{}, now, 1000)
	check(t, err)
	results := make([]store.AttemptResult, len(due))
	for i, d := range due {
		results[i] = store.AttemptResult{
			Attempt: webhook.Attempt{
				DeliveryID: d.ID, Number: d.Attempts + 1, At: now, Duration: 120 * time.Millisecond, HTTPStatus: http.StatusServiceUnavailable, Answer: "<b>down</b>",
			},
			EndpointID: w.Endpoint.ID, DueAt: d.DueAt,
		}
	}
	check(t, w.Store.RecordAttempts(t.Context(), "sender", results))
	return found[0].ID
}

// certificate makes an authentic Test order and returns the id of its certificate.
func (w *world) certificate(t *testing.T) string {
	t.Helper()
	o, err := w.Store.Order(t.Context(), w.Order(t, w.Test, order.MockAuthentic))
	check(t, err)
	return o.CertificateID
}

// visitor is a browser without scripts.
type visitor struct {
	t       *testing.T
	w       *world
	cookies map[string]*http.Cookie
	bearer  string // token of an interface, which pages do not take; empty: not sent
}

func (w *world) visit(t *testing.T) *visitor {
	return &visitor{t: t, w: w, cookies: make(map[string]*http.Cookie)}
}

// as returns a browser that a staff user has signed in with.
func (w *world) as(t *testing.T, who *access.Staff) *visitor {
	t.Helper()
	return w.session(t, access.Desk, "assay_desk", who.ID)
}

// program returns a caller with a token of an interface: pages do not take it, nor as a cookie.
func (w *world) program(t *testing.T, token string) *visitor {
	v := w.visit(t)
	v.bearer = token
	v.cookies["assay_desk"] = &http.Cookie{Name: "assay_desk", Value: token}
	return v
}

// customer returns a browser that a user of the portal has signed in with; the cookie also pretends to be the desk's.
func (w *world) customer(t *testing.T) *visitor {
	t.Helper()
	v := w.session(t, access.Portal, "assay_portal", w.Owner.ID)
	v.cookies["assay_desk"] = &http.Cookie{Name: "assay_desk", Value: v.cookies["assay_portal"].Value}
	return v
}

func (w *world) session(t *testing.T, audience access.Audience, cookie, userID string) *visitor {
	t.Helper()
	_, token, err := w.Service.StartSession(t.Context(), audience, userID, service.Origin{IP: "127.0.0.1"})
	check(t, err)
	v := w.visit(t)
	v.cookies[cookie] = &http.Cookie{Name: cookie, Value: token}
	return v
}

// page is an answer.
type page struct {
	status   int
	location string
	header   http.Header
	body     string
}

func (v *visitor) get(path string) *page {
	v.t.Helper()
	return v.do(http.MethodGet, path, "", nil)
}

// post sends a form of pairs.
func (v *visitor) post(path string, pairs ...string) *page {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.do(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// upload sends a file.
func (v *visitor) upload(path, name, content string) *page {
	v.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("document", name)
	check(v.t, err)
	_, err = io.WriteString(part, content)
	check(v.t, err)
	check(v.t, form.Close())
	return v.do(http.MethodPost, path, form.FormDataContentType(), &b)
}

func (v *visitor) do(method, path, contentType string, body io.Reader) *page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.w.Server.URL+path, body)
	check(v.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Origin", v.w.Server.URL)
	}
	if v.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+v.bearer)
	}
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	client := &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	check(v.t, err)
	defer func() { _ = res.Body.Close() }()
	uitest.CheckPolicy(v.t, res.Header, mediaURL)
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		} else {
			v.cookies[c.Name] = c
		}
	}
	content, err := io.ReadAll(res.Body)
	check(v.t, err)
	return &page{status: res.StatusCode, location: res.Header.Get("Location"), header: res.Header, body: string(content)}
}

// follow shows the page that an answer leads to.
func (v *visitor) follow(p *page) *page {
	v.t.Helper()
	if p.status != http.StatusSeeOther {
		v.t.Fatalf("status %d, want a page to go on to\n%.1500s", p.status, p.body)
	}
	return v.get(p.location)
}

// want ends the test unless the page has the status and all the words.
func (p *page) want(t *testing.T, status int, words ...string) *page {
	t.Helper()
	if p.status != status {
		t.Fatalf("status %d (to %q), want %d\n%.1500s", p.status, p.location, status, p.body)
	}
	for _, word := range words {
		if !strings.Contains(p.body, word) {
			t.Fatalf("the page does not say %q\n%s", word, p.body)
		}
	}
	return p
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
