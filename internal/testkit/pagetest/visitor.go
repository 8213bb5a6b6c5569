package pagetest

import (
	"bytes"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// Names of the session cookies.
const (
	PortalCookie = "assay_portal"
	DeskCookie   = "assay_desk"
)

// Visitor is a browser without scripts.
type Visitor struct {
	T       *testing.T
	Cookies map[string]*http.Cookie
	Headers map[string]string // sent in addition to the usual ones

	address string // of the server
}

// Visit returns a browser that nobody has signed in with.
func (w *World) Visit(t *testing.T) *Visitor {
	t.Helper()
	return &Visitor{T: t, address: w.Server.URL, Cookies: make(map[string]*http.Cookie), Headers: make(map[string]string)}
}

// AsUser returns a browser that a user has signed in to the portal with.
func (w *World) AsUser(t *testing.T, who *access.User) *Visitor {
	t.Helper()
	return w.WithSession(t, access.Portal, PortalCookie, who.ID)
}

// AsStaff returns a browser that a staff user has signed in to the desk with.
func (w *World) AsStaff(t *testing.T, who *access.Staff) *Visitor {
	t.Helper()
	return w.WithSession(t, access.Desk, DeskCookie, who.ID)
}

// AsCustomer returns a browser of the account's owner that sends the cookie of the portal as the desk's, too.
func (w *World) AsCustomer(t *testing.T) *Visitor {
	t.Helper()
	v := w.AsUser(t, w.Owner)
	return v.setCookie(DeskCookie, v.Cookies[PortalCookie].Value)
}

// WithToken returns a caller with a token of an API, sent as such and as the cookie of the desk: pages accept neither.
func (w *World) WithToken(t *testing.T, token string) *Visitor {
	t.Helper()
	v := w.Visit(t)
	v.Headers["Authorization"] = "Bearer " + token
	return v.setCookie(DeskCookie, token)
}

// WithSession returns a browser with a new session of a user in a cookie. It begins with a browser that was known for
// the moment: a test may have more of them than somebody gets with strange ones.
func (w *World) WithSession(t *testing.T, audience access.Audience, cookie, userID string) *Visitor {
	t.Helper()
	from := access.Origin{IP: "127.0.0.1", Device: access.NewSessionToken()}
	must.NoError(t, w.Store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.SeeDevice(audience, userID, from.Device, w.Clock.Now())
		return err
	}))
	_, token, err := w.Service.StartSession(t.Context(), audience, userID, from)
	must.NoError(t, err)
	rawsql.Exec(t, w.Target, "DELETE FROM sign_in_devices WHERE device_hash = '"+from.Device+"'")
	return w.Visit(t).setCookie(cookie, token)
}

func (v *Visitor) setCookie(name, value string) *Visitor {
	v.Cookies[name] = &http.Cookie{Name: name, Value: value}
	return v
}

// Get opens a page.
func (v *Visitor) Get(path string) *Page {
	v.T.Helper()
	return v.Do(http.MethodGet, path, "", nil)
}

// Post sends a form of names and values.
func (v *Visitor) Post(path string, pairs ...string) *Page {
	v.T.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.Do(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// Submit posts a form and opens the page that it redirects to.
func (v *Visitor) Submit(path string, pairs ...string) *Page {
	v.T.Helper()
	return v.Follow(v.Post(path, pairs...))
}

// Follow opens the page that an answer redirects to.
func (v *Visitor) Follow(p *Page) *Page {
	v.T.Helper()
	p.Want(v.T, http.StatusSeeOther)
	return v.Get(p.Location)
}

// Do sends a request.
func (v *Visitor) Do(method, path, contentType string, body io.Reader) *Page {
	v.T.Helper()
	r, err := http.NewRequestWithContext(v.T.Context(), method, v.address+path, body)
	must.NoError(v.T, err)
	r.Header.Set("User-Agent", "Browser of a test")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Origin", v.address)
	}
	for name, value := range v.Headers {
		r.Header.Set(name, value)
	}
	for _, c := range v.Cookies {
		r.AddCookie(c)
	}
	res, err := client.Do(r)
	must.NoError(v.T, err)
	defer func() { _ = res.Body.Close() }()
	uitest.CheckPolicy(v.T, res.Header, shop.MediaURL)
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 {
			delete(v.Cookies, c.Name)
		} else {
			v.Cookies[c.Name] = c
		}
	}
	p := &Page{
		Request: method + " " + path, Status: res.StatusCode, Location: res.Header.Get("Location"), Header: res.Header,
	}
	if p.Header.Get("Content-Type") != "text/event-stream" { // which has no end
		var content bytes.Buffer
		_, err = content.ReadFrom(res.Body)
		must.NoError(v.T, err)
		p.Body = content.String()
	}
	return p
}

// client leaves redirects to the visitor.
var client = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Page is an answer.
type Page struct {
	Request  string // method and path
	Status   int
	Location string // redirected to
	Header   http.Header
	Body     string
}

// Want ends the test unless the page has the status and all the words.
func (p *Page) Want(t testing.TB, status int, words ...string) *Page {
	t.Helper()
	if p.Status != status {
		t.Fatalf("%s: status %d (to %q), want %d\n%.1500s", p.Request, p.Status, p.Location, status, p.Body)
	}
	for _, word := range words {
		if !strings.Contains(p.Body, word) {
			t.Fatalf("%s: the page does not say %q\n%s", p.Request, word, p.Body)
		}
	}
	return p
}

// Lacks fails the test for each of the words that the page has.
func (p *Page) Lacks(t testing.TB, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(p.Body, word) {
			t.Errorf("%s: the page says %q", p.Request, word)
		}
	}
}

// In returns where the switch of language leads to.
func (p *Page) In(t testing.TB, language string) string {
	t.Helper()
	link := regexp.MustCompile(`<a href="([^"]*)" lang="` + language + `"`).FindStringSubmatch(p.Body)
	if link == nil {
		t.Fatalf("%s: the page has no switch to %s", p.Request, language)
	}
	return html.UnescapeString(link[1])
}

// Matrix runs a test for each page with what the matrix of who may see it says, and checks that both name the same
// pages.
func Matrix[W any](t *testing.T, patterns []string, matrix map[string]W,
	test func(pattern, method, path string, want W),
) {
	t.Helper()
	for pattern := range matrix {
		if !slices.Contains(patterns, pattern) {
			t.Errorf("%s is in the matrix and no page", pattern)
		}
	}
	for _, pattern := range patterns {
		want, ok := matrix[pattern]
		if !ok {
			t.Errorf("%s is not in the matrix of who may see it", pattern)
			continue
		}
		method, path, _ := strings.Cut(pattern, " ")
		test(pattern, method, path, want)
	}
}

// Send gets a page, or sends a form to it.
func (v *Visitor) Send(method, path string, form ...string) *Page {
	if method == http.MethodGet {
		return v.Get(path)
	}
	return v.Post(path, form...)
}
