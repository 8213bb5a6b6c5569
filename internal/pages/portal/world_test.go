package portal_test

import (
	"fmt"
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
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/imaging"
	"github.com/assayhq/assay/internal/netguard"
	"github.com/assayhq/assay/internal/pages/portal"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/pages/ui/uitest"
	"github.com/assayhq/assay/internal/ratelimit"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/store/storetest"
	"github.com/assayhq/assay/internal/testkit/shop"
)

// world is a portal on a server, with a user of each role in one account and an owner of another. The integration interface
// is on the same server.
type world struct {
	*shop.Shop
	Portal *portal.Portal
	Site   *ui.Site
	Server *httptest.Server

	Owner, Developer, Viewer *access.User
	Stranger                 *access.User // an owner of another account
}

// mediaURL is where photos would be served, for the content security policy.
const mediaURL = "https://media.example/m"

const password = "correct horse battery"

// passwordHash is made once: it takes longer than most tests.
var passwordHash = sync.OnceValue(func() string { return access.HashPassword(password) })

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Shop: shop.New(t, storetest.SQLite(t))}
	w.Service.Guard = &netguard.Guard{AllowPrivate: true}
	mux := http.NewServeMux()
	var handler http.Handler
	w.Server = httptest.NewServer(httpx.RequestID(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler.ServeHTTP(rw, r) })))
	t.Cleanup(w.Server.Close)
	w.Service.PublicURL = strings.Replace(w.Server.URL, "127.0.0.1", "localhost", 1) // passkeys need a name
	box, err := secret.New(secret.Generate())
	check(t, err)
	w.Site, err = ui.New(ui.Config{
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: w.Clock.Now, Secrets: box, PublicURL: w.Server.URL, MediaURL: mediaURL,
	}, portal.Area)
	check(t, err)
	limiter := ratelimit.NewMemory(w.Clock.Now)
	w.Portal = portal.New(portal.Config{
		Site: w.Site, Service: w.Service, Staging: w.Staging, MaxPhotoBytes: 1 << 20, Limiter: limiter, Images: imaging.NewCache(w.Media, w.Staging, nil),
	})
	w.Site.Routes(mux)
	w.Portal.Routes(mux)
	pages := w.Site.Wrap(mux)
	api := integration.New(integration.Config{
		Service: w.Service, Limiter: limiter, Failures: ratelimit.NewFailures(100, w.Clock.Now), Staging: w.Staging,
		MaxPhotoBytes: 10 << 20, Responder: &httpx.Responder{Log: slog.New(slog.DiscardHandler), Now: w.Clock.Now},
	})
	handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, integration.Prefix) {
			api.ServeHTTP(rw, r)
			return
		}
		pages.ServeHTTP(rw, r)
	})
	w.Owner, err = w.Store.Owner(t.Context(), w.Account.ID)
	check(t, err)
	check(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.SetUserPassword(w.Owner.ID, passwordHash()) }))
	w.Owner.PasswordHash = passwordHash()
	w.Developer = w.user(t, w.Account.ID, "developer@acme.example", access.Developer)
	w.Viewer = w.user(t, w.Account.ID, "viewer@acme.example", access.Viewer)
	other, err := w.Service.CreateAccount(t.Context(), access.System, "Other", "owner@other.example", text.English)
	check(t, err)
	w.Stranger = &other.Owner
	return w
}

func (w *world) user(t testing.TB, accountID, email string, role access.Role) *access.User {
	t.Helper()
	u := &access.User{ID: store.NewID(), AccountID: accountID, Email: email, Role: role, PasswordHash: passwordHash(), CreatedAt: w.Clock.Now()}
	check(t, w.Store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertUser(u) }))
	return u
}

func (w *world) member(t *testing.T, u *access.User) *service.Member {
	t.Helper()
	m, err := w.Service.MemberOfSession(t.Context(), u.ID)
	check(t, err)
	return m
}

// key makes an API key of the account.
func (w *world) key(t *testing.T, env access.Environment) *access.Key {
	t.Helper()
	k, _, err := w.Service.CreateKey(t.Context(), w.Owner.Actor("", access.Origin{}), service.NewKey{
		Tenant: access.Tenant{AccountID: w.Account.ID, Environment: env}, Name: "Vault 7", Scopes: access.AllScopes,
	})
	check(t, err)
	return k
}

// endpoint makes a webhook endpoint of the account, of a key of its own.
func (w *world) endpoint(t *testing.T, env access.Environment) *webhook.Endpoint {
	t.Helper()
	u, problem := webhook.CheckURL("url", fmt.Sprintf("https://127.0.0.1:9/hook-%s", store.NewID()))
	if problem != nil {
		t.Fatal(problem)
	}
	owner, n := w.Owner.Actor(env, access.Origin{}), service.NewEndpoint{URL: u, Events: webhook.Events}
	e, _, err := w.Service.CreateEndpoint(t.Context(), owner, w.key(t, env).ID, n)
	check(t, err)
	return e
}

func (w *world) delivery(t *testing.T, env access.Environment) string {
	t.Helper()
	id, err := w.Service.SendTestEvent(t.Context(), w.Owner.Actor(env, access.Origin{}), w.endpoint(t, env).ID, webhook.OrderOutcome)
	check(t, err)
	return id
}

// invitation returns the token of an invitation to the account, and its id.
func (w *world) invitation(t *testing.T, email string, role access.Role) (token, id string) {
	t.Helper()
	address, err := w.Service.Invite(t.Context(), w.member(t, w.Owner), email, role)
	check(t, err)
	_, token, _ = strings.Cut(address, "token=")
	l, err := w.Service.Link(t.Context(), store.Invitation, token)
	check(t, err)
	return token, l.ID
}

var origin = service.Origin{IP: "127.0.0.1"}

// visitor is a browser without scripts.
type visitor struct {
	t       *testing.T
	w       *world
	cookies map[string]*http.Cookie
	headers map[string]string // beside the usual ones
}

// visit returns a browser that nobody has signed in with.
func (w *world) visit(t *testing.T) *visitor {
	return &visitor{t: t, w: w, cookies: make(map[string]*http.Cookie), headers: make(map[string]string)}
}

// as returns a browser that a user has signed in with.
func (w *world) as(t *testing.T, who *access.User) *visitor {
	t.Helper()
	return w.session(t, access.Portal, "assay_portal", who.ID)
}

func (w *world) session(t *testing.T, audience access.Audience, cookie, userID string) *visitor {
	t.Helper()
	_, token, err := w.Service.StartSession(t.Context(), audience, userID, origin)
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

func (v *visitor) get(path string) *page { v.t.Helper(); return v.do(http.MethodGet, path, "", nil) }

// post sends a form of pairs.
func (v *visitor) post(path string, pairs ...string) *page {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.do(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

func (v *visitor) do(method, path, contentType string, body io.Reader) *page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.w.Server.URL+path, body)
	check(v.t, err)
	r.Header.Set("User-Agent", "Browser of a test")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Origin", v.w.Server.URL)
	}
	for name, value := range v.headers {
		r.Header.Set(name, value)
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

// follow posts a form and shows the page that the answer leads to.
func (v *visitor) follow(path string, pairs ...string) *page {
	v.t.Helper()
	p := v.post(path, pairs...)
	if p.status != http.StatusSeeOther {
		v.t.Fatalf("POST %s: %d, want a page to go on to\n%.1500s", path, p.status, p.body)
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
