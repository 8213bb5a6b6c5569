package portal_test

import (
	"crypto/x509"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/order"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/requires"
	"github.com/assayhq/assay/internal/testkit/uitest"
	"github.com/assayhq/assay/internal/worker/deliver"
	"github.com/pquerna/otp/totp"
	"golang.org/x/sync/errgroup"
)

// received is a delivery as it came to the customer's server.
type received struct {
	header http.Header
	body   []byte
}

// receiver is a customer's server with TLS, and a sender that trusts it at work.
func (w *world) receiver(t *testing.T) (address string, deliveries <-chan received) {
	t.Helper()
	return w.answering(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
}

// answering is a receiver with its own answers.
func (w *world) answering(t *testing.T, answer http.HandlerFunc) (address string, deliveries <-chan received) {
	t.Helper()
	got := make(chan received, 16)
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- received{r.Header, body}
		answer(rw, r)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	sender := deliver.New(deliver.Config{
		Store: w.Store, Secrets: w.Config.Secrets, Guard: w.Config.Guard, RootCAs: roots,
		Schedule: webhook.DefaultSchedule(), Timeout: 10 * time.Second, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	w.Reconfigure(t, func(c *service.Config) { c.OnDeliveries = sender.Wake })
	var running errgroup.Group
	ctx := t.Context()
	running.Go(func() error { return sender.Run(ctx) })
	t.Cleanup(func() { _ = running.Wait() }) // the context of the test has ended by then
	return server.URL, got
}

// photoFile writes a photo to a file.
func photoFile(t *testing.T) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 640, 480))
	for y := range 480 {
		for x := range 640 {
			img.SetRGBA(x, y, color.RGBA{R: uint8(x / 3), G: uint8(y / 3), B: 120, A: 255})
		}
	}
	name := filepath.Join(t.TempDir(), "serial.jpg")
	f, err := os.Create(filepath.Clean(name))
	must.NoError(t, err)
	must.NoError(t, jpeg.Encode(f, img, nil))
	must.NoError(t, f.Close())
	return name
}

// chooseBag chooses category and brand in a form that goes on with every choice.
func chooseBag(b *uitest.Browser) {
	b.Choose("#f-category", "bags")
	b.Await("#f-brand")
	b.Choose("#f-brand", "prada")
}

// wantSecret checks what a page shows this once.
func wantSecret(t *testing.T, b *uitest.Browser, pattern string) {
	t.Helper()
	if text := b.Text(".secret code"); !regexp.MustCompile(pattern).MatchString(text) {
		t.Fatalf("the page shows %q, want %s", text, pattern)
	}
}

// TestFirstDay drives a developer from an invitation to a signed webhook and an answered photo request, in a real
// browser and without the command line.
func TestFirstDay(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now())
	hook, deliveries := w.receiver(t)
	token, _ := w.invitation(t, "hana@acme.example", access.Developer)
	b := uitest.NewBrowser(t, w.Server.URL)

	b.Open("/portal/join?lang=en&token=" + token)
	b.Fill("#f-new_password", "a password of my own")
	b.Fill("#f-repeat", "a password of my own")
	b.Follow("main .primary")
	b.Await(".env-switch")

	b.Open("/portal/keys/new")
	b.Fill("#f-name", "Checkout server")
	b.Follow("main .primary")
	wantSecret(t, b, "^assay_test_")
	b.Screenshot("key-made")

	b.Follow("main .actions .button:not(.primary)")
	b.Fill("#f-url", hook+"/assay")
	b.Fill("#f-name", "Local")
	b.Follow("main .primary")
	signingSecret := b.Text(".secret code")
	b.Screenshot("webhook-made")
	b.Follow("main .actions .primary")
	verify(t, signingSecret, <-deliveries)
	b.AwaitTrue("document.querySelector('h1') !== null")

	b.Open("/portal/test/sandbox")
	chooseBag(b)
	b.Await("#f-key")
	key := uitest.Eval[string](b,
		"[...document.querySelector('#f-key').options].find(o => o.text.startsWith('Checkout server')).value")
	b.Choose("#f-key", key)
	b.Click("input[name=outcome][value=update-photos]")
	b.Follow("form[method=post] button.primary")
	b.Await(".request")
	d := <-deliveries
	verify(t, signingSecret, d)
	if event := d.header.Get("X-LG-Event"); event != string(webhook.UpdatePhotos) {
		t.Errorf("event %q", event)
	}
	b.Screenshot("photo-request")

	n := b.Count(".wanted")
	for i := 1; i <= n; i++ {
		b.Upload(".wanted:nth-of-type("+strconv.Itoa(i)+") input[type=file]", photoFile(t))
	}
	b.Click(".request .primary")
	b.Await("a.button.primary[href*='/certificates/']")
	d = <-deliveries
	verify(t, signingSecret, d)
	if event := d.header.Get("X-LG-Event"); event != string(webhook.OrderOutcome) {
		t.Errorf("event %q", event)
	}
	b.Screenshot("answered")
}

func verify(t *testing.T, secret string, d received) {
	t.Helper()
	at, err := strconv.ParseInt(d.header.Get("X-LG-Timestamp"), 10, 64)
	must.NoError(t, err)
	if webhook.NewSigner(secret).Sign(at, d.body) != d.header.Get("X-LG-Signature") {
		t.Errorf("the signature %q is not that of the delivery", d.header.Get("X-LG-Signature"))
	}
}

// noPages are the addresses that answer with something else than a page, or with one that is reached by a flow only.
var noPages = []string{
	"GET /portal/join", "GET /portal/reset", "GET /portal/sign-in/code", // opened below
	"GET /portal/requests/{id}",
	"GET /portal", "GET /portal/photos/{name}/{size}", "GET /portal/test/balance", "GET /portal/test/orders/{id}/cancel",
	"GET /portal/audit.csv", "GET /portal/activity.csv", "GET /portal/live/credits.csv", "GET /portal/live/credits/notice",
	"GET /portal/live/orders.csv", "GET /portal/test/credits.csv", "GET /portal/test/orders.csv",
	"GET /portal/live/orders/{id}/photos", "GET /portal/test/orders/{id}/photos", "GET /portal/settings/email",
	"GET /portal/live/orders/{id}/capture-link", "GET /portal/test/orders/{id}/capture-link",
	"GET /portal/settings/password", "GET /portal/settings/recovery-codes", "GET /portal/settings/second-factor/end",
	"GET /portal/sign-in/passkey", "GET /portal/reset/passkeys", "GET /portal/settings/passkeys",
	"GET /portal/settings/passkeys/new", "GET /portal/email",
	"GET /portal/team/invitations/{id}/delete", "GET /portal/team/invitations/{id}/again", "GET /portal/team/locale",
	"GET /portal/team/users/{id}/role", "GET /portal/team/users/{id}/reset", "GET /portal/team/users/{id}/second-factor",
	"GET /portal/test/orders/{id}/state", "GET /portal/test/orders/{id}/delayed",
	"GET /portal/live/webhooks/{id}/pause", "GET /portal/test/webhooks/{id}/pause",
	"GET /portal/live/webhooks/{id}/test", "GET /portal/test/webhooks/{id}/test",
	"GET /portal/live/deliveries/{id}/again", "GET /portal/test/deliveries/{id}/again",
}

// TestLooks opens every page of the table of routes, and pages in states of interest, in both themes and languages on
// all screens, and holds it to the rules of accessibility.
func TestLooks(t *testing.T) {
	requires.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	w := newWorld(t)
	w.Clock.Set(time.Now().Add(-40 * time.Hour))
	w.Trade(t)
	w.Clock.Advance(20 * time.Hour)
	w.Trade(t)
	w.Clock.Set(time.Now())
	waiting := w.Order(t, w.Test, order.MockUpdatePhotos)
	fake := w.Order(t, w.Test, order.MockFake)
	w.delivery(t, access.Test)
	w.request(t, access.Test)
	key := w.key(t, access.Live)
	for n := range 40 {
		at := w.Clock.Now().Add(-time.Duration(n) * 83 * time.Second)
		w.use(t, key, at, 40+13*n%200, "GET /v1/integrations/orders/{id}")
		w.use(t, key, at.Add(time.Millisecond), 7*n%33, "POST /v1/integrations/orders")
	}
	passkey := w.passkey(t, w.Owner)
	token, _ := w.invitation(t, "new@acme.example", access.Viewer)
	_, reset, err := w.Service.ResetUserPassword(t.Context(), access.Operator, w.Account.ID, w.Developer.ID)
	must.NoError(t, err)

	v := w.AsUser(t, w.Owner)
	fill := func(pattern string) string {
		_, path, _ := strings.Cut(pattern, " ")
		switch {
		case strings.Contains(path, "/portal/test/orders/{id}"):
			return strings.Replace(path, "{id}", waiting, 1)
		case strings.Contains(path, "/portal/keys/{id}"):
			return strings.Replace(path, "{id}", key.ID, 1)
		case strings.Contains(path, "/passkeys/{id}"):
			return strings.Replace(path, "{id}", passkey.ID, 1)
		}
		return w.target(t, pattern)
	}
	sorted := uitest.SortPages(t, patternsOf(w), noPages, fill,
		func(path string) (int, string) { p := w.Visit(t).Get(path); return p.Status, p.Body },
		func(path string) (int, string) { p := v.Get(path); return p.Status, p.Body })
	open, pages := sorted[0], sorted[1]
	open["join"], open["link-gone"] = "/portal/join?token="+token, "/portal/join?token=x"
	open["reset"] = reset[strings.Index(reset, "/portal/"):]
	pages["orders-waiting"] = "/portal/test/orders?status=update-photos"
	pages["orders-none"] = "/portal/test/orders?q=nothing"
	pages["order-fake"] = "/portal/test/orders/" + fake
	endpoint := w.attempted(t)
	pages["endpoint-health"] = "/portal/test/webhooks/" + endpoint.ID
	pages["capture-link-form"] = "/portal/test/capture-links/new?category=bags&brand=prada"
	pages["requests-none"] = "/portal/test/requests?code=no-such-code"
	pages["sandbox-form"] = "/portal/test/sandbox?category=bags&brand=prada"

	b := uitest.NewBrowser(t, w.Server.URL)
	b.Allow("example", "404")
	b.CheckPages(open)
	signIn(t, w, b, w.Owner)
	b.CheckPages(pages)
	b.CheckPages(map[string]string{"not-found": "/portal/test/orders/nothing"})
	signIn(t, w, b, w.Viewer)
	b.CheckPages(map[string]string{"viewer-order": "/portal/test/orders/" + waiting})

	secret, _ := enrol(t, w, w.Viewer) // which signs the browser out
	w.Clock.Set(time.Now().Add(time.Minute))
	b.Open("/portal/sign-in?lang=en")
	b.Fill("#f-email", w.Viewer.Email)
	b.Fill("#f-password", password)
	b.Follow(".signin .primary")
	b.CheckPages(map[string]string{"code": "/portal/sign-in/code"})
	code, err := totp.GenerateCode(secret, w.Clock.Now())
	must.NoError(t, err)
	b.Fill("#f-code", code)
	b.Follow(".signin .primary")
	b.CheckPages(map[string]string{"settings-with-factor": "/portal/settings"})
}

func signIn(t *testing.T, w *world, b *uitest.Browser, u *access.User) {
	t.Helper()
	if uitest.Eval[bool](b, "document.querySelector('form[action=\"/portal/sign-out\"]') !== null") {
		b.Follow("form[action='/portal/sign-out'] button")
	}
	b.Open("/portal/sign-in?lang=en")
	b.Fill("#f-email", u.Email)
	b.Fill("#f-password", password)
	b.Follow(".signin .primary")
	b.Await(".env-switch")
	_ = w
}
