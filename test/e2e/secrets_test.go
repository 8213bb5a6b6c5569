package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/oidctest"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/program"
	"github.com/assayhq/assay/internal/testkit/redistest"
	"github.com/assayhq/assay/internal/testkit/s3test"
	"github.com/assayhq/assay/internal/testkit/smtptest"
	"github.com/pquerna/otp/totp"
)

// secretRun is a run of the program that makes every kind of secret there is, and remembers them all.
type secretRun struct {
	t       *testing.T
	site    *site
	mail    *smtptest.Server
	secrets map[string]string
	bodies  bytes.Buffer // of failures
	logs    bytes.Buffer // of servers that have ended
	staff   *oidctest.Provider
}

// formerKey is the secret key before it was replaced.
const formerKey = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

// TestSecrets uses the program as integrators, account users and staff do, and then searches for every secret that was
// made or given: in logs, in the database, in a backup, in metrics, in answers to failures and in what commands print.
// None may be there in clear.
func TestSecrets(t *testing.T) { // not parallel: the S3 server's credentials are in the environment
	storage := s3test.Start(t)
	engines := map[string]program.Settings{
		"SQLite":     {},
		"PostgreSQL": {"database": pgtest.Database(t), "media": storage.Bucket(t)},
	}
	for name, settings := range engines {
		t.Run(name, func(t *testing.T) {
			r := &secretRun{t: t, mail: smtptest.Start(t, smtptest.Options{Auth: true}), secrets: map[string]string{
				"secret key":           secretKey,
				"former secret key":    formerKey,
				"password of Redis":    "redis-Zq7Wm2Xc9Vb4",
				"password of SMTP":     smtptest.Password,
				"OAuth client secret":  "oauth-Sa5Po0Iu7Yt2",
				"OpenID client secret": oidctest.ClientSecret,
				"key of S3":            os.Getenv("AWS_SECRET_ACCESS_KEY"),
			}}
			r.staff = oidctest.New(t, "http://localhost:8080"+openIDCallback) // the default of --public-url
			settings["oidc-issuer"], settings["oidc-client-id"] = r.staff.URL, oidctest.ClientID
			settings["oidc-client-secret"] = oidctest.ClientSecret
			settings["redis"] = redistest.StartProtected(t, r.secrets["password of Redis"]).URL()
			settings["smtp-url"], settings["smtp-ca-file"] = r.mail.URL(), r.mail.CAFile
			settings["mail-from"] = "assay@mail.test"
			settings["webhook-allow-private"] = "true"
			if settings["database"] != "" {
				r.secrets["password of the database"] = passwordOf(t, settings["database"])
			}
			settings["secret-key"], settings["data"] = formerKey, t.TempDir()
			r.site = start(t, settings)
			a := r.integrate()
			r.replaceKey(settings)
			r.people(a)
			r.fail(a)
			metrics := fetch(t, http.DefaultClient, "http://"+r.site.Ops+"/metrics")
			backup := filepath.Join(t.TempDir(), "backup")
			out := r.site.Installation().Run(t, "backup", backup)
			help := r.site.Installation().Run(t, "serve", "--help")
			check := r.site.Installation().Run(t, "check")
			running := files(t, r.site.data, "secret.key", "tls.key") // the log of the database too
			r.site.Stop(t)
			r.keepLogs()
			r.search("the log", r.logs.Bytes())
			r.search("the metrics", metrics)
			r.search("answers to failures", r.bodies.Bytes())
			for name, result := range map[string]program.Result{"backup": out, "--help": help, "check": check} {
				r.search("the output of "+name, []byte(result.Stdout+result.Stderr))
			}
			for name, content := range running {
				r.search("the data folder of the running server: "+name, content)
			}
			for name, content := range files(t, r.site.data, "secret.key", "tls.key") {
				r.search("the data folder: "+name, content)
			}
			for name, content := range files(t, backup, "secret.key", "tls.key") {
				r.search("the backup: "+name, content)
			}
			if database := settings["database"]; database != "" {
				r.search("the database", dumpOf(t, database))
			}
			if len(r.secrets) < 24 {
				t.Errorf("only %d secrets were made", len(r.secrets))
			}
		})
	}
}

func (r *secretRun) keepLogs() { r.logs.WriteString(r.site.Stderr() + r.site.Stdout()) }

// replaceKey goes on with another secret key, under which everything is sealed anew.
func (r *secretRun) replaceKey(settings program.Settings) {
	r.site.Stop(r.t)
	r.keepLogs()
	settings["secret-key"], settings["secret-key-previous"] = secretKey, formerKey
	r.site = start(r.t, settings)
	var done struct{ Resealed, Remaining int }
	r.site.CLI(r.t, &done, "secrets", "rotate")
	if done.Resealed == 0 || done.Remaining != 0 {
		r.t.Errorf("sealed anew: %+v", done)
	}
}

// openIDCallback is where the provider sends staff back to.
const openIDCallback = "/desk/sign-in/openid/callback"

// atProvider signs a staff user in with the provider, and remembers what passed through the browser.
func (r *secretRun) atProvider(email string) {
	t := r.t
	t.Helper()
	r.staff.Person(email, true)
	jar, err := cookiejar.New(nil)
	must.NoError(t, err)
	browser := &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(browser.CloseIdleConnections)
	next := func(answer *http.Response, err error) *url.URL {
		t.Helper()
		must.NoError(t, err)
		must.NoError(t, answer.Body.Close())
		to, err := answer.Request.URL.Parse(answer.Header.Get("Location"))
		must.NoError(t, err)
		return to
	}
	page := next(browser.Get(next(browser.Get(r.site.URL("/desk/sign-in/openid"))).String()))
	back := next(browser.Get(next(browser.PostForm(page.String(), url.Values{
		"authRequestID": {page.Query().Get("authRequestID")}, "email": {email},
	})).String()))
	r.secrets["code of the provider"] = back.Query().Get("code")
	r.secrets["state at the provider"] = back.Query().Get("state")
	next(browser.Get(r.site.URL(openIDCallback + "?" + back.RawQuery)))
	at, err := url.Parse(r.site.URL("/desk"))
	must.NoError(t, err)
	r.remember(jar.Cookies(at), "session with the provider")
	if r.secrets["session with the provider (assay_desk)"] == "" {
		t.Errorf("nobody is signed in with the provider: %v", jar.Cookies(at))
	}
}

// remember keeps the secrets that cookies hold.
func (r *secretRun) remember(cookies []*http.Cookie, name string) {
	for _, cookie := range cookies {
		if len(cookie.Value) >= 20 {
			r.secrets[name+" ("+cookie.Name+")"] = cookie.Value
		}
	}
}

// integrate does what an integrator does.
func (r *secretRun) integrate() *account {
	t := r.t
	a := r.site.open(t)
	r.secrets["Test key"], r.secrets["Live key"], r.secrets["password of the owner"] = a.Test.Key, a.Live.Key, a.Password
	c := r.site.client(t, a.Test)
	hook, err := c.CreateWebhook(t.Context(), client.CreateWebhook{
		URL: "https://127.0.0.1:1999/hook", Events: []client.WebhookEvent{client.EventOrderOutcome},
	})
	must.NoError(t, err)
	r.secrets["signing secret"] = hook.SigningSecret
	_, err = c.CreateWebhook(t.Context(), client.CreateWebhook{
		URL: "https://127.0.0.1:1999/second", Events: []client.WebhookEvent{client.EventOrderOutcome},
		Auth: &client.OAuth2{
			TokenURL: "https://127.0.0.1:1999/token", ClientID: "shop", ClientSecret: r.secrets["OAuth client secret"],
		},
	})
	must.NoError(t, err)
	var rotated struct {
		Secret string `json:"signing_secret"`
	}
	answer := r.send(a.Test.Key, prefix+"/webhooks/"+hook.ID+"/rotate_secret", "")
	answer.wantStatus(t, http.StatusOK)
	must.NoError(t, json.Unmarshal(answer.body, &rotated))
	r.secrets["new signing secret"] = rotated.Secret
	var link struct{ URL string }
	answer = r.send(a.Test.Key, prefix+"/capture_links", `{"category_code":"bags","brand_code":"northwind"}`)
	answer.wantStatus(t, http.StatusCreated)
	must.NoError(t, json.Unmarshal(answer.body, &link))
	r.secrets["capture link"] = link.URL[strings.LastIndexAny(link.URL, "/=#")+1:]
	draft := tote(upload(t, c, 1)[0])
	draft.MockOutcome = client.MockAuthentic
	_, err = c.CreateOrder(t.Context(), draft)
	must.NoError(t, err)
	return a
}

var (
	totpSecret    = regexp.MustCompile(`data-copy="([A-Z2-7]{16,})"`)
	totpSealed    = regexp.MustCompile(`name="sealed" value="([^"]+)"`)
	recoveryCodes = regexp.MustCompile(`<li><code>([0-9a-z-]{19})</code></li>`)
)

// people does what account users and staff do.
func (r *secretRun) people(a *account) {
	t, s := r.t, r.site
	browser := r.signIn("/portal", "owner@acme.example", a.Password, "session of the owner")
	r.secondFactor(browser, "/portal/settings", a.Password)
	r.post(browser, "/portal/team", "email", "new@acme.example", "role", "viewer")
	r.secrets["link of an invitation"] = tokenOf(r.mail.Await(t, "new@acme.example", "").Link())
	var reset struct{ Link string }
	s.CLI(t, &reset, "accounts", "reset-password", "--email", "owner@acme.example")
	r.secrets["link of a reset"] = tokenOf(reset.Link)
	var staff struct{ Password, Token string }
	s.CLI(t, &staff, "staff", "create", "--email", "rei@desk.example", "--name", "Rei", "--role", "reviewer")
	r.secrets["password of staff"], r.secrets["token of staff"] = staff.Password, staff.Token
	desk := r.signIn("/desk", "rei@desk.example", staff.Password, "session of staff")
	r.secondFactor(desk, "/desk/me", staff.Password)
	s.CLI(t, &staff, "staff", "create", "--email", "aya@desk.example", "--name", "Aya", "--role", "reviewer")
	r.atProvider("aya@desk.example")
}

// signIn signs somebody in and remembers the session.
func (r *secretRun) signIn(base, email, password, name string) *http.Client {
	r.t.Helper()
	jar, err := cookiejar.New(nil)
	must.NoError(r.t, err)
	browser := &http.Client{Jar: jar}
	r.t.Cleanup(browser.CloseIdleConnections)
	r.post(browser, base+"/sign-in", "email", email, "password", "a wrong "+password)
	r.post(browser, base+"/sign-in", "email", email, "password", password)
	at, err := url.Parse(r.site.URL(base))
	must.NoError(r.t, err)
	r.remember(jar.Cookies(at), name)
	return browser
}

// secondFactor sets up an authenticator app, and remembers its secret and the recovery codes.
func (r *secretRun) secondFactor(browser *http.Client, settings, password string) {
	t := r.t
	t.Helper()
	page := string(fetch(t, browser, r.site.URL(settings+"/second-factor")))
	secret, sealed := totpSecret.FindStringSubmatch(page), totpSealed.FindStringSubmatch(page)
	if secret == nil || sealed == nil {
		t.Fatalf("no second factor is offered:\n%s", page)
	}
	code, err := totp.GenerateCode(secret[1], time.Now())
	must.NoError(t, err)
	page = r.post(browser, settings+"/second-factor",
		"sealed", html.UnescapeString(sealed[1]), "code", code, "password", password)
	codes := recoveryCodes.FindAllStringSubmatch(page, -1)
	if len(codes) == 0 {
		t.Fatalf("there are no recovery codes:\n%s", page)
	}
	r.secrets["authenticator of "+settings] = secret[1]
	r.secrets["recovery code of "+settings] = codes[0][1]
	r.secrets["another recovery code of "+settings] = codes[len(codes)-1][1]
}

func (r *secretRun) post(browser *http.Client, path string, fields ...string) string {
	r.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	answer, err := browser.PostForm(r.site.URL(path), form)
	must.NoError(r.t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	must.NoError(r.t, err)
	return string(body)
}

// send posts a body with a key.
func (r *secretRun) send(key, path, body string) *answer {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.site.URL(path), strings.NewReader(body))
	must.NoError(r.t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return send(r.t, http.DefaultClient, request)
}

// fail makes requests that fail while they carry secrets.
func (r *secretRun) fail(a *account) {
	t, s := r.t, r.site
	for _, path := range []string{"/orders/none", "/orders?page=x", "/nothing", "/webhooks/none"} {
		answer := s.get(t, a.Test.Key, prefix+path)
		r.bodies.Write(answer.body)
	}
	for _, body := range []string{"{", `{"name":"x"}`, `{"url":"http://user:` + a.Test.Key + `@x.example/"}`} {
		r.bodies.Write(r.send(a.Live.Key, prefix+"/webhooks", body).body)
	}
	r.bodies.Write(s.get(t, r.secrets["token of staff"], prefix+"/balance").body)
}

// search looks for every secret, and for what is as good as it.
func (r *secretRun) search(where string, content []byte) {
	r.t.Helper()
	for name, secret := range r.secrets {
		if len(secret) < 8 {
			r.t.Errorf("the %s is too short to search for: %q", name, secret)
			continue
		}
		for _, form := range []string{
			secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if bytes.Contains(content, []byte(form)) {
				r.t.Errorf("the %s is in %s", name, where)
				break
			}
		}
	}
}

// files reads all files of a folder, unpacked, except those that are kept for their secret.
func files(t *testing.T, folder string, except ...string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	must.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(strings.Join(except, " "), d.Name()) {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && bytes.HasPrefix(content, []byte("\x1f\x8b")) {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(content)); err == nil {
				content, err = io.ReadAll(z)
			}
		}
		all[path] = content
		return err
	}))
	if len(all) == 0 {
		t.Fatalf("there is nothing in %s", folder)
	}
	return all
}

// dumpOf returns the content of a PostgreSQL database.
func dumpOf(t *testing.T, database string) []byte {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	must.NoError(t, err)
	if path, err := exec.LookPath("pg_dump"); err == nil {
		programs = append(programs, path)
	}
	if len(programs) == 0 {
		t.Fatal("there is no pg_dump: install postgresql-client")
	}
	out, err := exec.CommandContext(t.Context(), programs[len(programs)-1], "--dbname", database).Output()
	must.NoError(t, err)
	return out
}
