package desk_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/pages/desk"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/pages/ui/uitest"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// world is a desk on a server, with two reviewers and an administrator, over a shop with photos and orders. The
// customer's interface is on the same server.
type world struct {
	*shop.Shop
	Desk   *desk.Desk
	Site   *ui.Site
	Server *httptest.Server

	Mika, Ren, Aoi *access.Staff // the last is an administrator
}

// mediaURL is where photos would be served, for the content security policy.
const mediaURL = "https://media.example/m"

const password = "correct horse battery"

// passwordHash is made once: it takes longer than most tests.
var passwordHash = sync.OnceValue(func() string { return access.HashPassword(password) })

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Shop: shop.New(t, storetest.SQLite(t))}
	_, err := w.Service.GrantCredits(t.Context(), w.Account, access.Live, 100_000, "for tests")
	check(t, err)
	mux := http.NewServeMux()
	var handler http.Handler
	w.Server = httptest.NewServer(httpx.RequestID(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler.ServeHTTP(rw, r) })))
	t.Cleanup(w.Server.Close)
	box, err := secret.New(secret.Generate())
	check(t, err)
	w.Site, err = ui.New(ui.Config{Now: w.Clock.Now, Secrets: box, PublicURL: w.Server.URL, MediaURL: mediaURL}, desk.Area)
	check(t, err)
	w.Desk = desk.New(desk.Config{Site: w.Site, Service: w.Service, Images: imaging.NewCache(w.Media, w.Staging, nil)})
	t.Cleanup(w.Desk.Close)
	w.Site.Routes(mux)
	w.Desk.Routes(mux)
	pages := w.Site.Wrap(mux)
	api := integration.New(integration.Config{
		Service: w.Service, Limiter: ratelimit.NewMemory(w.Clock.Now), Failures: ratelimit.NewFailures(100, w.Clock.Now), Staging: w.Staging,
		MaxPhotoBytes: 10 << 20, Responder: &httpx.Responder{Log: slog.New(slog.DiscardHandler), Now: w.Clock.Now},
	})
	handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, integration.Prefix) {
			api.ServeHTTP(rw, r)
			return
		}
		pages.ServeHTTP(rw, r)
	})
	w.Mika = w.staff(t, "mika@example.com", "Mika Sato", access.Reviewer)
	w.Ren = w.staff(t, "ren@example.com", "Ren Ito", access.Reviewer)
	w.Aoi = w.staff(t, "aoi@example.com", "Aoi Mori", access.Admin)
	return w
}

func (w *world) staff(t *testing.T, email, name string, role access.StaffRole) *access.Staff {
	t.Helper()
	s := &access.Staff{ID: store.NewID(), Email: email, Name: name, Role: role, PasswordHash: passwordHash(), CreatedAt: w.Clock.Now()}
	check(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertStaff(s, access.HashSecretKey(access.NewStaffToken())) }))
	return s
}

// queued makes a Live order of a Chanel bag with three photos.
func (w *world) queued(t *testing.T) string {
	t.Helper()
	answer, err := w.Service.CreateOrder(t.Context(), w.Live.Actor(access.Origin{}), &order.Draft{
		CategoryCode: "bags", BrandCode: "chanel", ExternalID: new("SKU-1"), AnswerTime: 60,
		Photos: []order.DraftPhoto{
			{URL: w.Photo(t, w.Live), IndexCode: "overall-picture"},
			{URL: w.Photo(t, w.Live), IndexCode: "brand-stamp"},
			{URL: w.Photo(t, w.Live), IndexCode: "serial-number"},
		},
	}, nil)
	check(t, err)
	var receipt struct{ ID string }
	check(t, json.Unmarshal(answer, &receipt))
	return receipt.ID
}

// claimed makes a Live order in the hands of a staff user.
func (w *world) claimed(t *testing.T, who *access.Staff) string {
	t.Helper()
	id := w.queued(t)
	_, err := w.Service.ClaimOrder(t.Context(), who.Actor(access.Origin{}), id)
	check(t, err)
	return id
}

func (w *world) order(t *testing.T, id string) *order.Order {
	t.Helper()
	o, err := w.Store.Order(t.Context(), id)
	check(t, err)
	return o
}

// visitor is a browser without scripts.
type visitor struct {
	t       *testing.T
	w       *world
	cookies map[string]*http.Cookie
	fetch   string // Sec-Fetch-Mode; empty: not sent
	bearer  string // token of an interface, which pages do not take; empty: not sent
}

// visit returns a browser that nobody has signed in with.
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
	owner, err := w.Store.Owner(t.Context(), w.Account.ID)
	check(t, err)
	v := w.session(t, access.Portal, "assay_portal", owner.ID)
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

func (v *visitor) get(path string) *page { v.t.Helper(); return v.do(http.MethodGet, path, nil) }

// post sends a form of pairs.
func (v *visitor) post(path string, pairs ...string) *page {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.do(http.MethodPost, path, form)
}

func (v *visitor) do(method, path string, form url.Values) *page {
	v.t.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.w.Server.URL+path, body)
	check(v.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.w.Server.URL)
	}
	if v.fetch != "" {
		r.Header.Set("Sec-Fetch-Mode", v.fetch)
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
	p := &page{status: res.StatusCode, location: res.Header.Get("Location"), header: res.Header}
	if p.header.Get("Content-Type") != "text/event-stream" {
		content, err := io.ReadAll(res.Body)
		check(v.t, err)
		p.body = string(content)
	}
	return p
}

// follow posts a form and shows the page that the answer leads to.
func (v *visitor) follow(path string, pairs ...string) *page {
	v.t.Helper()
	p := v.post(path, pairs...)
	if p.status != http.StatusSeeOther {
		v.t.Fatalf("POST %s: %d, want a page to go on to\n%.800s", path, p.status, p.body)
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

// lacks fails when the page has one of the words.
func (p *page) lacks(t *testing.T, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(p.body, word) {
			t.Errorf("the page says %q", word)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
