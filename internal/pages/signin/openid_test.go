package signin_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/audit"
	"github.com/assayhq/assay/internal/openid"
	"github.com/assayhq/assay/internal/service"
	auth "github.com/assayhq/assay/internal/service/signin"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/oidctest"
	"github.com/assayhq/assay/internal/testkit/pagetest"
	"github.com/assayhq/assay/internal/testkit/rawsql"
	"github.com/assayhq/assay/internal/testkit/shop"
	"github.com/assayhq/assay/internal/testkit/storetest"
	"github.com/assayhq/assay/internal/testkit/uitest"
)

const (
	openIDStart    = "/desk/sign-in/openid"
	openIDCallback = openIDStart + "/callback"
)

// openIDWorld is a desk with a provider, which knows Mika.
type openIDWorld struct {
	*world
	provider *oidctest.Provider
}

func newOpenIDWorld(t *testing.T, target string, changes ...func(*service.Config)) *openIDWorld {
	t.Helper()
	w := &openIDWorld{world: &world{
		World: pagetest.On(t, target), audience: access.Desk, base: "/desk", settings: "/desk/me", page: "/desk",
		cookie: pagetest.DeskCookie,
	}}
	w.who, w.other = w.Mika.Person(), w.Aoi.Person()
	w.Clock.Set(time.Now())
	w.provider = oidctest.New(t, w.Service.Address()+openIDCallback)
	w.provider.Person(w.Mika.Email, true)
	w.Reconfigure(t, append(changes, shop.WithMail, func(c *service.Config) {
		c.OpenID.Issuer, c.OpenID.ClientID, c.OpenID.ClientSecret = w.provider.URL, oidctest.ClientID, oidctest.ClientSecret
	})...)
	return w
}

// elsewhere is a browser at the provider.
var elsewhere = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// atProvider signs somebody in at the provider and returns the address to which the browser is sent back.
func (w *openIDWorld) atProvider(t *testing.T, address, email string) string {
	t.Helper()
	follow := func(res *http.Response, err error) string {
		must.NoError(t, err)
		must.NoError(t, res.Body.Close())
		to, err := res.Request.URL.Parse(res.Header.Get("Location"))
		must.NoError(t, err)
		return to.String()
	}
	login := follow(elsewhere.Get(address))
	id := queryOf(t, login).Get("authRequestID")
	back := follow(elsewhere.PostForm(login, url.Values{"authRequestID": {id}, "email": {email}}))
	return strings.TrimPrefix(follow(elsewhere.Get(back)), w.Service.Address())
}

// begin leaves for the provider and returns its address.
func (w *openIDWorld) begin(v *pagetest.Visitor, next string) string {
	v.T.Helper()
	p := v.Get(openIDStart+"?next="+url.QueryEscape(next)).Want(v.T, http.StatusSeeOther)
	if !strings.HasPrefix(p.Location, w.provider.URL+"/") {
		v.T.Fatalf("leads to %q", p.Location)
	}
	return p.Location
}

func queryOf(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	must.NoError(t, err)
	return u.Query()
}

func (w *openIDWorld) deactivate(t *testing.T, who *access.Staff) {
	t.Helper()
	_, err := w.Service.DeactivateStaff(t.Context(), access.Operator, who.ID)
	must.NoError(t, err)
}

func (w *openIDWorld) signIn(v *pagetest.Visitor, email, next string) *pagetest.Page {
	v.T.Helper()
	return v.Get(w.atProvider(v.T, w.begin(v, next), email))
}

func eachOpenID(t *testing.T, f func(t *testing.T, w *openIDWorld)) {
	t.Helper()
	storetest.EachTarget(t, func(t *testing.T, target string) { f(t, newOpenIDWorld(t, target)) })
}

func (w *openIDWorld) lastAction(t *testing.T) *audit.Action {
	t.Helper()
	all, err := w.Store.StaffActions(t.Context(), audit.ActionFilter{}, audit.ActionCursor{}, 1)
	must.NoError(t, err)
	return all[0]
}

func TestOpenID(t *testing.T) {
	eachOpenID(t, func(t *testing.T, w *openIDWorld) {
		v := w.Visit(t)
		v.Get("/desk/sign-in").Want(t, http.StatusOK, "Sign in with 127.0.0.1", openIDStart)
		if p := w.signIn(v, w.Mika.Email, "/desk/me?x=1").Want(t, http.StatusSeeOther); p.Location != "/desk/me?x=1" {
			t.Errorf("leads to %q", p.Location)
		}
		v.Get("/desk").Want(t, http.StatusOK, "Mika Sato")
		v.Get("/desk/me/confirm").Want(t, http.StatusOK, "If you sign in with another service")
		w.AsUser(t, w.Owner).Get("/portal/settings/confirm").Want(t, http.StatusOK).Lacks(t, "another service")
		if a := w.lastAction(t); a.Code != audit.StaffSignedIn || a.StaffID != w.Mika.ID || a.Details["method"] != "openid" {
			t.Errorf("recorded %+v", a)
		}
		t.Run("NewDevice", func(t *testing.T) {
			w.signIn(w.Visit(t), w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
			if _, ok := w.mail(t)["new-device to "+w.Mika.Email]; !ok {
				t.Error("no mail about a new device")
			}
		})
		t.Run("UpperCaseEmail", func(t *testing.T) {
			w.provider.Person("MIKA@example.com", true)
			w.signIn(w.Visit(t), "MIKA@example.com", "/desk").Want(t, http.StatusSeeOther)
		})
		t.Run("FreshSession", func(t *testing.T) {
			v := w.as(t, w.other)
			planted := v.Cookies[w.cookie].Value
			w.signIn(v, w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
			if v.Cookies[w.cookie].Value == planted {
				t.Error("the session of before is gone on with")
			}
			v.Get("/desk").Want(t, http.StatusOK, "Mika Sato")
		})
		t.Run("PasswordStays", func(t *testing.T) {
			w.Visit(t).Post("/desk/sign-in", "email", w.Mika.Email, "password", password).Want(t, http.StatusSeeOther)
		})
		t.Run("NotForThePortal", func(t *testing.T) {
			w.Visit(t).Get("/portal/sign-in").Want(t, http.StatusOK).Lacks(t, "openid")
			w.Visit(t).Get("/portal/sign-in/openid").Want(t, http.StatusNotFound)
		})
		t.Run("KeyRotation", func(t *testing.T) {
			w.provider.RotateKeys(t)
			w.signIn(w.Visit(t), w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
		})
		t.Run("BackButton", func(t *testing.T) {
			v := w.Visit(t)
			back := w.atProvider(t, w.begin(v, "/desk"), w.Mika.Email)
			v.Get(back).Want(t, http.StatusSeeOther)
			if p := v.Get(back).Want(t, http.StatusSeeOther); p.Location != "/desk" {
				t.Errorf("leads to %q", p.Location)
			}
		})
	})
}

// TestOpenIDSecondFactor checks who owes a code after a sign-in at the provider.
func TestOpenIDSecondFactor(t *testing.T) {
	required := func(c *service.Config) { c.Limits.SecondFactor = map[access.Audience]bool{access.Desk: true} }
	w := newOpenIDWorld(t, storetest.SQLite(t), required)
	v := w.Visit(t)
	w.signIn(v, w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
	if p := v.Get("/desk").Want(t, http.StatusSeeOther); p.Location != "/desk/me/second-factor" {
		t.Errorf("without a second factor: to %q", p.Location)
	}
	w.provider.Forge(w.provider.Change(t, map[string]any{"amr": []string{"pwd", "otp", "mfa"}}))
	v = w.Visit(t)
	w.signIn(v, w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
	v.Get("/desk").Want(t, http.StatusOK)

	w.provider.Forge(nil)
	_, recovery := enrol(t, w.world, w.who)
	v = w.Visit(t)
	if p := w.signIn(v, w.Mika.Email, "/desk/me").Want(t, http.StatusSeeOther); p.Location != "/desk/sign-in/code" {
		t.Fatalf("with a second factor here: to %q", p.Location)
	}
	if p := v.Get("/desk"); p.Status == http.StatusOK {
		t.Error("signed in without the code")
	}
	if p := v.Post("/desk/sign-in/code", "code", recovery[0]).Want(t, http.StatusSeeOther); p.Location != "/desk/me" {
		t.Errorf("leads to %q", p.Location)
	}
	if a := w.lastAction(t); a.Details["method"] != "openid" {
		t.Errorf("recorded %+v", a)
	}

	w.Reconfigure(t, func(c *service.Config) { c.OpenID.TrustFactor = true })
	v = w.Visit(t)
	w.signIn(v, w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
	v.Get("/desk").Want(t, http.StatusOK)
}

// TestOpenIDAttacks tries to get in without being let in.
func TestOpenIDAttacks(t *testing.T) {
	eachOpenID(t, func(t *testing.T, w *openIDWorld) {
		refused := func(t *testing.T, v *pagetest.Visitor, p *pagetest.Page, words string) {
			t.Helper()
			p.Want(t, http.StatusUnprocessableEntity, words, "f-password")
			if q := v.Get("/desk"); q.Status != http.StatusSeeOther || !strings.HasPrefix(q.Location, "/desk/sign-in") {
				t.Errorf("signed in: %d to %q", q.Status, q.Location)
			}
			w.provider.Forge(nil)
			w.Clock.Set(time.Now())
			rawsql.Exec(t, w.Target, "DELETE FROM sign_in_attempts") // the throttle is another test
			w.signIn(w.Visit(t), w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
		}
		const expired, out, unknown = "has expired", "did not let you in", "not on the staff list"
		back := func(t *testing.T, v *pagetest.Visitor) url.Values {
			t.Helper()
			return queryOf(t, w.atProvider(t, w.begin(v, "/desk"), w.Mika.Email))
		}
		come := func(v *pagetest.Visitor, q url.Values) *pagetest.Page {
			v.T.Helper()
			return v.Get(openIDCallback + "?" + q.Encode())
		}
		t.Run("WrongState", func(t *testing.T) {
			for _, state := range []string{"", "x", strings.Repeat("A", 4000), "\x00"} {
				v := w.Visit(t)
				q := back(t, v)
				q.Set("state", state)
				refused(t, v, come(v, q), expired)
			}
			v := w.Visit(t)
			q := back(t, v)
			q.Set("state", q.Get("state")[:20]+"AAAA"+q.Get("state")[24:])
			refused(t, v, come(v, q), expired)
		})
		t.Run("ReplayedState", func(t *testing.T) {
			v := w.Visit(t)
			q := back(t, v)
			come(v, q).Want(t, http.StatusSeeOther)
			v.Post("/desk/sign-out").Want(t, http.StatusSeeOther)
			refused(t, v, come(v, q), expired)
		})
		t.Run("OtherBrowser", func(t *testing.T) {
			q := back(t, w.Visit(t))
			v := w.Visit(t)
			refused(t, v, come(v, q), expired) // which was never sent
			q = back(t, w.Visit(t))
			v = w.Visit(t)
			w.begin(v, "/desk")
			refused(t, v, come(v, q), expired)
		})
		t.Run("InjectedCode", func(t *testing.T) { // of the attacker's own sign-in, into the victim's
			attacker, victim := w.Visit(t), w.Visit(t)
			stolen := back(t, attacker)
			q := back(t, victim)
			q.Set("code", stolen.Get("code"))
			refused(t, victim, come(victim, q), out)
		})
		t.Run("CodeTwice", func(t *testing.T) {
			v := w.Visit(t)
			q := back(t, v)
			first := queryOf(t, w.begin(v, "/desk")).Get("state")
			come(v, q).Want(t, http.StatusSeeOther)
			v.Post("/desk/sign-out").Want(t, http.StatusSeeOther)
			q.Set("state", first)
			refused(t, v, come(v, q), out)
		})
		t.Run("Expired", func(t *testing.T) {
			v := w.Visit(t)
			q := back(t, v)
			w.Clock.Advance(auth.OpenIDLife)
			refused(t, v, come(v, q), expired)
		})
		t.Run("OtherIssuer", func(t *testing.T) {
			v := w.Visit(t)
			q := back(t, v)
			q.Set("iss", "https://evil.example")
			refused(t, v, come(v, q), out)
		})
		t.Run("Canceled", func(t *testing.T) {
			v := w.Visit(t)
			q := back(t, v)
			q.Del("code")
			q.Set("error", "access_denied")
			q.Set("error_description", "call +1 555 to unlock")
			p := come(v, q)
			p.Lacks(t, "to unlock")
			refused(t, v, p, out)
		})
		t.Run("OpenRedirect", func(t *testing.T) {
			for _, next := range []string{
				"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)", "/" + strings.Repeat("a", 600),
			} {
				v := w.Visit(t)
				if p := w.signIn(v, w.Mika.Email, next).Want(t, http.StatusSeeOther); p.Location != "/desk" {
					t.Errorf("%.30q leads to %q", next, p.Location)
				}
			}
		})
		t.Run("Tokens", func(t *testing.T) { w.attackTokens(t, refused, out) })
		t.Run("People", func(t *testing.T) {
			w.provider.Person("stranger@example.com", true)
			w.provider.Person(w.Ren.Email, false)
			w.provider.Person(w.Jun.Email, true)
			w.provider.Person(w.Owner.Email, true) // of the portal
			w.deactivate(t, w.Jun)
			var last *audit.Action
			for _, email := range []string{"stranger@example.com", w.Ren.Email, w.Jun.Email, w.Owner.Email} {
				v := w.Visit(t)
				p := w.signIn(v, email, "/desk")
				if email == w.Jun.Email {
					last = w.lastAction(t)
				}
				refused(t, v, p, unknown)
			}
			if a := last; a.Code != audit.StaffSignInFailed || a.StaffID != w.Jun.ID ||
				a.Details["reason"] != "deactivated" {
				t.Errorf("recorded %+v", a)
			}
		})
		t.Run("DeactivatedMeanwhile", func(t *testing.T) {
			leaver := w.AddStaff(t, "leaver@example.com", "Leaver", access.Reviewer)
			w.provider.Person(leaver.Email, true)
			v := w.Visit(t)
			back := w.atProvider(t, w.begin(v, "/desk"), leaver.Email)
			w.deactivate(t, leaver)
			refused(t, v, v.Get(back), unknown)
		})
	})
}

// attackTokens has the provider make tokens that are not to be accepted.
func (w *openIDWorld) attackTokens(
	t *testing.T, refused func(*testing.T, *pagetest.Visitor, *pagetest.Page, string), out string,
) {
	t.Helper()
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	must.NoError(t, err)
	unsigned := func(claims map[string]any) string {
		part := func(x any) string {
			text, err := json.Marshal(x)
			must.NoError(t, err)
			return base64.RawURLEncoding.EncodeToString(text)
		}
		return part(map[string]string{"alg": "none", "typ": "JWT"}) + "." + part(claims) + "."
	}
	change := func(name string, value any) func(map[string]any) string {
		return w.provider.Change(t, map[string]any{name: value})
	}
	for name, forge := range map[string]func(map[string]any) string{
		"Issuer":       change("iss", "https://evil.example"),
		"Audience":     change("aud", "another-client"),
		"TwoAudiences": w.provider.Change(t, map[string]any{"aud": []string{oidctest.ClientID, "another"}, "azp": "another"}),
		"NoAZP":        w.provider.Change(t, map[string]any{"aud": []string{oidctest.ClientID, "another"}, "azp": nil}),
		"Expired":      change("exp", time.Now().Add(-time.Minute).Unix()),
		"NotYet":       change("nbf", time.Now().Add(time.Hour).Unix()),
		"Nonce":        change("nonce", "x"),
		"NoNonce":      change("nonce", nil),
		"None":         unsigned,
		"NoToken":      func(map[string]any) string { return "" },
		"HS256WithTheSecret": func(c map[string]any) string {
			return oidctest.Sign(t, jose.HS256, []byte(oidctest.ClientSecret+strings.Repeat("x", 32)), "k", c)
		},
		"ForeignKey": func(c map[string]any) string { return oidctest.Sign(t, jose.RS256, foreign, "k", c) },
		"SwappedPayload": func(c map[string]any) string {
			signed := strings.Split(w.provider.Change(t, nil)(maps.Clone(c)), ".")
			forged := strings.Split(w.provider.Change(t, map[string]any{"email": w.Aoi.Email})(c), ".")
			return signed[0] + "." + forged[1] + "." + signed[2]
		},
		"UserInfoOfAnother": change("sub", "somebody-else"), // the email is asked for with the access token
	} {
		t.Run(name, func(t *testing.T) {
			w.provider.Forge(forge)
			v := w.Visit(t)
			refused(t, v, w.signIn(v, w.Mika.Email, "/desk"), out)
		})
	}
	for name, verified := range map[string]any{"EmailUnverified": false, "EmailMaybe": "yes", "EmailUnknown": nil} {
		t.Run(name, func(t *testing.T) {
			w.provider.Forge(w.provider.Change(t, map[string]any{"email": w.Aoi.Email, "email_verified": verified}))
			v := w.Visit(t)
			p := w.signIn(v, w.Mika.Email, "/desk")
			last := w.lastAction(t)
			refused(t, v, p, "not on the staff list")
			if a := last; a.Code != audit.StaffSignInFailed || a.StaffID != w.Aoi.ID ||
				a.Details["reason"] != "openid-email-unverified" {
				t.Errorf("recorded %+v", a)
			}
		})
	}
}

// TestOpenIDAway checks that nobody is kept out by a provider that does not answer.
func TestOpenIDAway(t *testing.T) {
	w := newOpenIDWorld(t, storetest.SQLite(t))
	fresh := func() { w.Reconfigure(t) } // a process that has not asked yet
	answers := map[string]func(http.ResponseWriter, *http.Request) bool{
		"Broken": func(rw http.ResponseWriter, _ *http.Request) bool { rw.WriteHeader(http.StatusBadGateway); return true },
		"Nonsense": func(rw http.ResponseWriter, _ *http.Request) bool {
			_, _ = rw.Write([]byte("<html>" + strings.Repeat("x", 3<<20)))
			return true
		},
		"Redirect": func(rw http.ResponseWriter, r *http.Request) bool {
			http.Redirect(rw, r, "http://127.0.0.1:1/", http.StatusFound)
			return true
		},
		"OtherIssuer": func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write([]byte(`{"issuer":"https://evil.example","authorization_endpoint":"https://evil.example/a",
				"token_endpoint":"https://evil.example/t","jwks_uri":"https://evil.example/k"}`))
			return true
		},
		"PlainToken": func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write([]byte(`{"issuer":"` + w.provider.URL + `","authorization_endpoint":"https://p.example/a",
				"token_endpoint":"http://p.example/t","jwks_uri":"https://p.example/k"}`))
			return true
		},
	}
	answers["PlainUserInfo"] = func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"issuer":"` + w.provider.URL + `","authorization_endpoint":"https://p.example/a",
			"token_endpoint":"https://p.example/t","jwks_uri":"https://p.example/k","userinfo_endpoint":"http://p.example/u"}`))
		return true
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			fresh()
			w.provider.Answer(answer)
			defer w.provider.Answer(nil)
			v := w.Visit(t)
			v.Get(openIDStart).Want(t, http.StatusServiceUnavailable, "does not answer", "f-password").
				Lacks(t, "evil.example", "Bad Gateway")
			v.Post("/desk/sign-in", "email", w.Mika.Email, "password", password).Want(t, http.StatusSeeOther)
		})
	}
	for _, part := range []string{"/oauth/token", "/keys", "/userinfo"} {
		t.Run("Away"+part, func(t *testing.T) {
			fresh()
			v := w.Visit(t)
			back := w.atProvider(t, w.begin(v, "/desk"), w.Mika.Email)
			w.provider.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != part {
					return false
				}
				panic(http.ErrAbortHandler)
			})
			v.Get(back).Want(t, http.StatusServiceUnavailable, "does not answer")
			w.provider.Answer(nil)
			w.signIn(v, w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
		})
	}
	t.Run("AwayAfterAWhile", func(t *testing.T) { // what was found before stays good
		fresh()
		v := w.Visit(t)
		w.signIn(v, w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
		w.provider.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasPrefix(r.URL.Path, "/.well-known") {
				panic(http.ErrAbortHandler)
			}
			return false
		})
		defer w.provider.Answer(nil)
		w.signIn(w.Visit(t), w.Mika.Email, "/desk").Want(t, http.StatusSeeOther)
	})
}

// TestOpenIDThrottled checks that codes cannot be tried without end, and that this keeps nobody else out.
func TestOpenIDThrottled(t *testing.T) {
	w := newOpenIDWorld(t, storetest.SQLite(t))
	v := w.Visit(t)
	guess := func() *pagetest.Page {
		state := queryOf(t, w.begin(v, "/desk")).Get("state")
		return v.Get(openIDCallback + "?" + url.Values{"state": {state}, "code": {"guess"}}.Encode())
	}
	for range 10 {
		guess().Want(t, http.StatusUnprocessableEntity)
	}
	kept := func() int { return len(rawsql.Rows(t, w.Target, "SELECT challenge_hash FROM spent_challenges")) }
	before := kept()
	for range 5 {
		guess().Want(t, http.StatusTooManyRequests, "Too many attempts")
	}
	if n := kept(); n != before {
		t.Errorf("%d attempts that were refused are kept", n-before)
	}
	v.Post("/desk/sign-in", "email", w.Mika.Email, "password", password).Want(t, http.StatusSeeOther)
}

// TestOpenIDInABrowser signs in with a real browser: cookies and policies are those of one.
func TestOpenIDInABrowser(t *testing.T) {
	w := newOpenIDWorld(t, storetest.SQLite(t))
	b := uitest.NewBrowser(t, w.Service.Address())
	b.Allow(w.provider.URL)
	b.Open("/desk/me?lang=en")
	b.CheckAccessibility()
	b.Follow("a[href^='" + openIDStart + "']")
	b.Await("#email")
	b.Fill("#email", w.Mika.Email)
	b.Follow("#go")
	b.Await(".passkeys") // the settings, where they wanted to go
	if text := b.Text("main"); !strings.Contains(text, w.Mika.Email) {
		t.Errorf("the page says %.300q", text)
	}
}

// TestOpenIDIssuer checks what may be set as the address of a provider.
func TestOpenIDIssuer(t *testing.T) {
	for issuer, ok := range map[string]bool{
		"https://login.example.com": true, "https://login.example.com/realms/a": true, "http://127.0.0.1:9": true,
		"http://localhost:9": true, "http://login.example.com": false, "login.example.com": false, "": false,
		"https://user:pw@login.example.com": false, "https://login.example.com?x=1": false,
		"http://127.0.0.1.evil.example": false,
	} {
		if err := openid.CheckIssuer(issuer); (err == nil) != ok {
			t.Errorf("%q: %v", issuer, err)
		}
	}
}
