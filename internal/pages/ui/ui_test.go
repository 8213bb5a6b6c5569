package ui_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/pages/ui"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

// visitor is a browser as far as the server sees it: it keeps cookies and follows nothing.
type visitor struct {
	t       *testing.T
	handler http.Handler
	cookies map[string]string
}

func visit(t *testing.T, h http.Handler) *visitor {
	return &visitor{t: t, handler: httpx.RequestID(h), cookies: make(map[string]string)}
}

func (v *visitor) do(r *http.Request) *http.Response {
	v.t.Helper()
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	v.handler.ServeHTTP(w, r)
	resp := w.Result()
	for _, c := range resp.Cookies() {
		if c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		} else {
			v.cookies[c.Name] = c.Value
		}
	}
	return resp
}

func (v *visitor) get(path string, headers ...string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, "http://assay.test"+path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return v.do(r)
}

func (v *visitor) post(path string, form url.Values, headers ...string) *http.Response {
	r := httptest.NewRequest(http.MethodPost, "http://assay.test"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return v.do(r)
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func want(t *testing.T, r *http.Response, status int, parts ...string) string {
	t.Helper()
	body := bodyOf(t, r)
	if r.StatusCode != status {
		t.Fatalf("status %d, want %d:\n%s", r.StatusCode, status, body)
	}
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("the page does not hold %q:\n%s", part, body)
		}
	}
	return body
}

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

func TestMessages(t *testing.T) {
	site := uitest.Site(t, at(start), gallery())
	uitest.CheckMessages(t, site, "ui", []string{"."}, "ui.status.", "ui.error.", "ui.fault.", "ui.problem.",
		"ui.duration.", "ui.delivery.")
	for _, s := range order.Statuses {
		if !site.Messages.Has("ui.status." + string(s)) {
			t.Errorf("the status %s has no text", s)
		}
	}
	if got := site.Messages.T(text.English, "ui.form.check", "n", 1); got != "Please check 1 field below." {
		t.Errorf("one: %q", got)
	}
	if got := site.Messages.T(text.English, "ui.form.check", "n", 2); got != "Please check 2 fields below." {
		t.Errorf("many: %q", got)
	}
	if got := site.Messages.T(text.Japanese, "ui.pager.range", "from", 1, "to", 20, "total",
		int64(1234567)); got != "1,234,567 件中 1〜20 件" {
		t.Errorf("grouped: %q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	box, err := secret.New(uitest.SecretKey)
	if err != nil {
		t.Fatal(err)
	}
	page := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for name, files := range map[string]fstest.MapFS{
		"there is no asset":          {"templates/x.html": page(`{{define "main"}}{{asset "x/no.js"}}{{end}}`)},
		`asset "x/no.css"`:           {"templates/x.html": page(`{{define "main"}}{{style "x/no.css"}}{{end}}`)},
		`asset "x/gone.js"`:          {"templates/x.html": page(`{{define "main"}}{{script "x/gone.js"}}{{end}}`)},
		"there is no icon":           {"templates/x.html": page(`{{define "main"}}{{icon "no"}}{{end}}`)},
		`message "x.no", which does`: {"templates/x.html": page(`{{define "main"}}{{if t "x.no"}}{{end}}{{end}}`)},
		`x.a has no text in "ja"`:    {"templates/x.html": page(""), "messages/x.yaml": page("a: {en: A}")},
		`x.a has no text in "en"`:    {"templates/x.html": page(""), "messages/x.yaml": page("a: {ja: A}")},
		`placeholders in "ja"`:       {"templates/x.html": page(""), "messages/x.yaml": page(`a: {en: "{n}", ja: "{m}"}`)},
		"not a mapping of languages": {"templates/x.html": page(""), "messages/x.yaml": page("a: b")},
		"stands twice": {
			"templates/x.html": page(""), "messages/1.yaml": page("a: {en: A, ja: A}"),
			"messages/2.yaml": page("a: {en: A, ja: A}"),
		},
		"no content type is known":      {"templates/x.html": page(""), "static/x.exe": page("x")},
		"unexpected EOF":                {"templates/x.html": page(`{{define "main"}}`)},
		`unknown language "fr"`:         {"templates/x.html": page(""), "messages/x.yaml": page("a: {en: A, ja: A, fr: A}")},
		"a text with forms needs both:": {"templates/x.html": page(""), "messages/x.yaml": page("a: {en: {one: A}, ja: A}")},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ui.New(ui.Config{Now: time.Now, Secrets: box, PublicURL: "http://assay.test"},
				ui.Area{Name: "x", Files: files})
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("New = %v, want an error with %q", err, name)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	v := visit(t, galleryHandler(uitest.Site(t, time.Now, gallery())))
	for _, path := range []string{"/gallery", "/no-such-page"} {
		h := v.get(path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
				"img-src 'self' data: https://media.assay.test; " +
				"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cache-Control": "no-store",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
			}
		}
		if h.Get("Permissions-Policy") == "" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers are missing: %v", path, h)
		}
	}
}

func TestPage(t *testing.T) {
	v := visit(t, galleryHandler(uitest.Site(t, time.Now, gallery())))
	body := want(t, v.get("/gallery"), http.StatusOK, `<html lang="en">`, "<title>Components · Assay</title>",
		"Everything that pages are made of, 1,234 times.",
		`<a href="/gallery" aria-current="page" title="Components">`, `class="badge tone-info"`, `type="email" required`,
		`aria-describedby="f-email-hint"`,
		"81–100 of 12,345", `href="/gallery?page=6"`, `data-time="clock"`, `<option value="b" selected>`)
	for _, forbidden := range []string{"style=", "onclick", "<script>", "<style", "ZgotmplZ"} {
		if strings.Contains(body, forbidden) {
			t.Errorf("the page holds %q", forbidden)
		}
	}
}

// TestClock checks that a clock is amber when little time is left, red when nearly none is, and says when it is over.
func TestClock(t *testing.T) {
	v := visit(t, galleryHandler(uitest.Site(t, time.Now, gallery())))
	clock := regexp.MustCompile(`<time [^>]*class="clock ([^"]*)"[^>]*>([^<]*)<`)
	for lang, overdue := range map[string]string{"en": "3 min late", "ja": "3 分 超過"} {
		var tones []string
		body := want(t, v.get("/gallery?lang="+lang), http.StatusOK)
		for _, m := range clock.FindAllStringSubmatch(body, -1) {
			tones = append(tones, m[1])
			if late := m[2] == overdue; late != (m[1] == "tone-bad overdue") {
				t.Errorf("a clock that is %s says %q", m[1], m[2])
			}
		}
		if want := []string{"tone-good", "tone-warn", "tone-bad", "tone-bad overdue"}; !slices.Equal(tones, want) {
			t.Errorf("the clocks are %q, not %q", tones, want)
		}
	}
}

func TestLanguage(t *testing.T) {
	h := galleryHandler(uitest.Site(t, time.Now, gallery()))
	for accept, lang := range map[string]string{
		"": "en", "ja": "ja", "ja-JP,en;q=0.5": "ja", "fr,de": "en", "en;q=0.3, ja;q=0.8": "ja", "en-GB,ja;q=0.9": "en",
		"JA": "ja", "x;q=nonsense,ja;q=0.1": "ja",
	} {
		want(t, visit(t, h).get("/gallery", "Accept-Language", accept), http.StatusOK, `<html lang="`+lang+`">`)
	}
	v := visit(t, h)
	want(t, v.get("/gallery?lang=ja&page=2"), http.StatusOK, `<html lang="ja">`, "コンポーネント",
		`href="/gallery?lang=en&amp;page=2"`)
	want(t, v.get("/gallery"), http.StatusOK, `<html lang="ja">`)
	want(t, v.get("/gallery?lang=xx"), http.StatusOK, `<html lang="ja">`)
	v.get("/gallery?lang=en", "X-Refresh", "1") // a page that was opened in English before brings itself up to date
	v.get("/gallery?lang=en", "Sec-Fetch-Mode", "cors")
	want(t, v.get("/gallery"), http.StatusOK, `<html lang="ja">`)
	want(t, v.post("/preferences", url.Values{"lang": {"en"}, "next": {"/gallery"}}), http.StatusSeeOther)
	want(t, v.get("/gallery"), http.StatusOK, `<html lang="en">`)
}

func TestTheme(t *testing.T) {
	v := visit(t, galleryHandler(uitest.Site(t, time.Now, gallery())))
	resp := v.post("/preferences", url.Values{"theme": {"dark"}, "next": {"/gallery?page=2"}})
	if want(t, resp, http.StatusSeeOther); resp.Header.Get("Location") != "/gallery?page=2" {
		t.Errorf("goes to %q", resp.Header.Get("Location"))
	}
	want(t, v.get("/gallery"), http.StatusOK, `<html lang="en" data-theme="dark">`)
	want(t, v.post("/preferences", url.Values{"theme": {"auto"}}), http.StatusSeeOther)
	want(t, v.get("/gallery"), http.StatusOK, `<html lang="en">`)
	if resp := v.post("/preferences", url.Values{
		"theme": {"dark"}, "next": {"https://evil.test/"},
	}); resp.Header.Get("Location") != "/" {
		t.Errorf("an open redirect: %q", resp.Header.Get("Location"))
	}
}

func TestForm(t *testing.T) {
	v := visit(t, galleryHandler(uitest.Site(t, time.Now, gallery())))
	t.Run("ShownAgain", func(t *testing.T) {
		want(t, v.post("/gallery", url.Values{"note": {"<b>"}, "outcome": {"b"}}), http.StatusUnprocessableEntity,
			"&lt;b&gt;</textarea>", "Please check 1 field below.",
			`aria-invalid="true"`, "That is not an email address.", `value="b" checked`)
	})
	t.Run("Flash", func(t *testing.T) {
		resp := v.post("/gallery", url.Values{"email": {"a@b<c"}})
		if want(t, resp, http.StatusSeeOther); resp.Header.Get("Location") != "/gallery" {
			t.Errorf("goes to %q", resp.Header.Get("Location"))
		}
		want(t, v.get("/gallery?lang=ja"), http.StatusOK, "a@b&lt;c を保存しました。")
		if strings.Contains(bodyOf(t, v.get("/gallery")), "保存しました") {
			t.Error("a flash is shown twice")
		}
	})
	t.Run("ForgedFlash", func(t *testing.T) {
		v.cookies["assay_flash"] = "eyJoZWxsbyI6MX0"
		want(t, v.get("/gallery"), http.StatusOK)
	})
	t.Run("TooLarge", func(t *testing.T) {
		want(t, v.post("/gallery", url.Values{"note": {strings.Repeat("x", 1<<20)}}), http.StatusRequestEntityTooLarge,
			"フォームのデータが大きすぎます。")
	})
}

func TestCrossOrigin(t *testing.T) {
	v := visit(t, galleryHandler(uitest.Site(t, time.Now, gallery())))
	form := url.Values{"email": {"a@b"}}
	for name, headers := range map[string][]string{
		"Form": {"Sec-Fetch-Site", "cross-site"}, "Subdomain": {"Sec-Fetch-Site", "same-site"},
		"OldBrowser": {"Origin", "https://evil.test"}, "Opaque": {"Origin", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, v.post("/gallery", form, headers...), http.StatusForbidden, "Not allowed", "another site")
		})
	}
	want(t, v.post("/gallery", form, "Sec-Fetch-Site", "same-origin"), http.StatusSeeOther)
	want(t, v.post("/gallery", form, "Origin", "http://assay.test"), http.StatusSeeOther)
}

func TestSafeNext(t *testing.T) {
	for _, next := range []string{"/", "/desk", "/desk/orders?page=2&x=//a", "/a#b", "/日本"} {
		if got := ui.SafeNext(next, "/fallback"); got != next {
			t.Errorf("SafeNext(%q) = %q", next, got)
		}
	}
	for _, next := range []string{
		"", "desk", "//evil.test", "///evil.test", `/\evil.test`, `\\evil.test`, "https://evil.test", "http:evil",
		"javascript:alert(1)", "/\t/evil.test", "/\n/evil.test",
		"/%2f/evil.test\\", "//user@evil.test/", "mailto:a@b", "/%zz",
	} {
		if got := ui.SafeNext(next, "/fallback"); got != "/fallback" {
			t.Errorf("SafeNext(%q) = %q", next, got)
		}
	}
}

func TestErrorPages(t *testing.T) {
	site := uitest.Site(t, time.Now, gallery())
	pages := site.Pages("gallery")
	pages.Shell = func(*http.Request) ui.Shell {
		return ui.Shell{
			Home: "/gallery", Groups: []ui.NavGroup{{Items: []ui.NavItem{{Href: "/gallery", Label: "In the frame"}}}},
		}
	}
	var fail error
	mux := http.NewServeMux()
	site.Routes(mux)
	mux.Handle("GET /fail", pages.Handle(func(http.ResponseWriter, *http.Request) error { return fail }))
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("secret cause") })
	v := visit(t, site.Wrap(mux))
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{fault.BadRequest("Exactly this."), 400, "Exactly this."},
		{fault.New(fault.NotFound, "x", "Which order."), 404, "Page not found"},
		{fault.New(fault.Conflict, "invalid-transition", "english"), 409, "The order has changed"},
		{fault.New(fault.PaymentRequired, "not-enough-credits", "english"), 402, "Not enough credits."},
		{fault.UnavailableError(errors.New("secret cause")), 503, "Temporarily unavailable"},
		{errors.New("secret cause"), 500, "Something went wrong"},
	} {
		fail = c.err
		resp := v.get("/fail")
		id := resp.Header.Get("X-Request-Id")
		body := want(t, resp, c.status, c.text, "In the frame", `href="/gallery"`, id)
		if strings.Contains(body, "secret cause") || id == "" {
			t.Errorf("%v: the page tells too much, or no request id", c.err)
		}
	}
	fail = fault.UnavailableError(errors.New("x"))
	if got := v.get("/fail").Header.Get("Retry-After"); got != "5" {
		t.Errorf("Retry-After %q", got)
	}
	if body := want(t, v.get("/panic"), 500, "Something went wrong"); strings.Contains(body, "secret cause") {
		t.Error("a panic is shown")
	}
	want(t, v.get("/nowhere?lang=ja"), 404, "ページが見つかりません")
	fail = fault.BadRequest("Exactly this.")
	if body := want(t, v.get("/fail"), 400, "処理できませんでした"); strings.Contains(body, "Exactly this.") {
		t.Error("a Japanese page has an English text")
	}
}

func TestAssets(t *testing.T) {
	site := uitest.Site(t, time.Now, gallery())
	v := visit(t, galleryHandler(site))
	css := site.AssetURL("ui/ui.css")
	resp := v.get(css, "Accept-Encoding", "gzip, br")
	body := want(t, resp, http.StatusOK)
	if resp.Header.Get("Content-Encoding") != "gzip" || !bytes.HasPrefix([]byte(body), []byte{0x1f, 0x8b}) {
		t.Error("the style sheet is not compressed")
	}
	if got := resp.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("Cache-Control %q", got)
	}
	want(t, v.get(css, "Accept-Encoding", "gzip;q=0"), http.StatusOK, "color-scheme")
	script := v.get(site.AssetURL("gallery/gallery.js"))
	if got := script.Header.Get("Content-Type"); got != "text/javascript; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	old := v.get("/assets/0123456789abcdef/ui/ui.css")
	if want(t, old, http.StatusOK); old.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("another version's address is kept: %q", old.Header.Get("Cache-Control"))
	}
	for _, path := range []string{
		"/assets/", "/assets/x", strings.Replace(css, "ui.css", "no.css", 1), "/assets/x/../../doc.go",
	} {
		if resp := v.get(path); resp.StatusCode == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}

func TestSignedCookie(t *testing.T) {
	now := start
	site := uitest.Site(t, func() time.Time { return now })
	keep := func(name, value string) *http.Cookie {
		w := httptest.NewRecorder()
		site.SetSigned(w, httptest.NewRequest(http.MethodGet, "/", nil), name, value, time.Minute)
		return w.Result().Cookies()[0]
	}
	read := func(name string, c *http.Cookie) (string, bool) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(c)
		return site.Signed(r, name)
	}
	c := keep("step", "user-1")
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 60 {
		t.Errorf("cookie = %+v", c)
	}
	if got, ok := read("step", c); !ok || got != "user-1" {
		t.Errorf("Signed = %q, %v", got, ok)
	}
	renamed := *c
	renamed.Name = "other"
	if _, ok := read("other", &renamed); ok {
		t.Error("a value may be moved to another cookie")
	}
	for i := range len(c.Value) {
		changed := *c
		b := []byte(c.Value)
		b[i] ^= 1
		changed.Value = string(b)
		if got, ok := read("step", &changed); ok && got != "user-1" {
			t.Fatalf("a changed value is taken: %q", got)
		}
	}
	now = now.Add(time.Minute)
	if _, ok := read("step", c); ok {
		t.Error("a value outlives its time")
	}
}

func TestHostPrefix(t *testing.T) {
	for name, c := range map[string]struct {
		public string
		tls    bool
		cookie string
	}{
		"Plain": {"http://assay.test", false, "x"}, "TLS": {"http://assay.test", true, "__Host-x"},
		"ProxyWithTLS": {"https://assay.test", false, "__Host-x"},
	} {
		t.Run(name, func(t *testing.T) {
			site := uitest.SiteAt(t, c.public, at(start))
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if c.tls {
				r.TLS = new(tls.ConnectionState)
			}
			w := httptest.NewRecorder()
			site.SetSigned(w, r, "x", "v", time.Minute)
			got := w.Result().Cookies()[0]
			if secure := c.cookie != "x"; got.Name != c.cookie || got.Secure != secure || got.Path != "/" || got.Domain != "" {
				t.Errorf("cookie = %+v", got)
			}
		})
	}
}

func TestPager(t *testing.T) {
	files := fstest.MapFS{"templates/x.html": {Data: []byte(`{{define "main"}}{{pager .}}{{end}}`)}}
	site := uitest.Site(t, at(start), ui.Area{Name: "x", Files: files})
	for name, c := range map[string]struct {
		pager ui.Pager
		has   []string
		not   []string
	}{
		"Empty":   {ui.Pager{Page: 1, Limit: 20}, []string{"Nothing found"}, []string{"<a"}},
		"OnePage": {ui.Pager{Page: 1, Limit: 20, Total: 20}, []string{"1–20 of 20"}, []string{`rel="next"`, `rel="prev"`}},
		"First": {
			ui.Pager{Page: 1, Limit: 20, Total: 21, URL: galleryURL("/q")},
			[]string{"1–20 of 21", `href="/q?page=2" rel="next"`},
			[]string{`rel="prev"`},
		},
		"Last": {ui.Pager{Page: 2, Limit: 20, Total: 21}, []string{"21–21 of 21", `rel="prev"`}, []string{`rel="next"`}},
		"Deep": {
			ui.Pager{Page: 500000, Limit: 1, Total: 1000000},
			[]string{"499,999", "500,001", "1,000,000", "…"},
			[]string{"499,998"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := site.Pages("x").Handle(func(w http.ResponseWriter, r *http.Request) error {
				return site.Pages("x").Render(w, r, ui.Page{Template: "x", Data: c.pager})
			})
			body := want(t, visit(t, h).get("/q"), 200, c.has...)
			_, body, _ = strings.Cut(body, "<main")
			body, _, _ = strings.Cut(body, "</main>")
			for _, not := range c.not {
				if strings.Contains(body, not) {
					t.Errorf("the pager holds %q:\n%s", not, body)
				}
			}
		})
	}
}
