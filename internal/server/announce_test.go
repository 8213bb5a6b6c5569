package server

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/text"
	"github.com/assayhq/assay/internal/service"
	"github.com/assayhq/assay/internal/testkit/child"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/pgtest"
	"github.com/assayhq/assay/internal/testkit/pictures"
	"github.com/assayhq/assay/internal/testkit/redistest"
)

const (
	prefix   = "/v1/integrations"
	longTime = time.Minute // far more than anything here takes on a busy machine
)

// fleet is several nodes on one database, with a customer.
type fleet struct {
	nodes  []*Server
	tenant access.Tenant
	key    *access.Key
	secret string // of the key
}

// startFleet starts a node for each list of roles, with the same settings.
func startFleet(t *testing.T, change func(*Settings), roles []string, args ...string) *fleet {
	t.Helper()
	f, target, log := new(fleet), pgtest.Database(t), new(child.Output)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", log)
		}
	})
	for _, r := range roles {
		set := nodeSettings(t, append(args, "--database", target, "--roles", r, "--require-second-factor", "none",
			"--secret-key", strings.Repeat("0123456789abcdef", 4))...)
		change(&set)
		f.nodes = append(f.nodes, run(t, set, slog.New(slog.NewTextHandler(log, nil))))
	}
	s := f.service()
	f.importCatalog(t, "Bags")
	made, err := s.CreateAccount(t.Context(), access.Operator, "Acme", "owner@acme.example", text.English)
	must.NoError(t, err)
	f.tenant = access.Tenant{AccountID: made.Account.ID, Environment: access.Test}
	f.key, f.secret = f.newKey(t, f.tenant)
	return f
}

func (f *fleet) service() *service.Service { return f.nodes[0].app.Service }

func (f *fleet) newKey(t *testing.T, tenant access.Tenant) (*access.Key, string) {
	t.Helper()
	k, secret, err := f.service().CreateKey(t.Context(), access.Operator, service.NewKey{
		Tenant: tenant, Name: "key", Scopes: access.AllScopes,
	})
	must.NoError(t, err)
	return k, secret
}

// importCatalog imports, through the first node, a catalog in which bags have a name.
func (f *fleet) importCatalog(t *testing.T, name string) {
	t.Helper()
	document, err := os.ReadFile("../../test/e2e/testdata/catalog.yaml")
	must.NoError(t, err)
	document = bytes.Replace(document, []byte("{en: Bags,"), []byte("{en: "+name+","), 1)
	_, err = f.service().ImportCatalog(t.Context(), access.Operator, document)
	must.NoError(t, err)
}

func (f *fleet) client(t *testing.T, node int, secret string) *client.Client {
	t.Helper()
	c, err := client.New(f.nodes[node].BaseURL()+prefix, secret, client.WithoutRetry())
	must.NoError(t, err)
	return c
}

// order orders through the first node.
func (f *fleet) order(t *testing.T, secret string, mock client.MockOutcome) {
	t.Helper()
	c := f.client(t, 0, secret)
	sent, err := c.UploadPhotos(t.Context(), client.File{
		Name: "bag.png", Content: bytes.NewReader(pictures.GrayPNG(9, 9)),
	})
	must.NoError(t, err)
	_, err = c.CreateOrder(t.Context(), client.CreateOrder{
		BrandCode: "northwind", CategoryCode: "bags", Photos: []client.OrderPhoto{{URL: sent[0].URL, IndexCode: "overall"}},
		MockOutcome: mock,
	})
	must.NoError(t, err)
}

// TestAnnouncementsAlone checks that a node acts at once on what happens through another: it looks by itself only once
// in a day here, so that nothing but the announcement can be why.
func TestAnnouncementsAlone(t *testing.T) {
	received := make(chan string, 100)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- string(body)
	}))
	t.Cleanup(receiver.Close)
	f := startFleet(t, func(s *Settings) { s.looks = 24 * time.Hour },
		[]string{"api,desk", "api,desk,deliver,images,housekeeping"},
		"--webhook-allow-private", "--webhook-ca-file", must.CertificateFile(t, receiver), "--test-event-delay", "0s")
	there := f.client(t, 1, f.secret)

	t.Run("Catalog", func(t *testing.T) {
		for _, name := range []string{"Purses", "Satchels"} { // the first may have been seen when the node began to listen
			f.importCatalog(t, name)
			must.Eventually(t, longTime, "the catalog of the other node is "+name, func() bool {
				categories, err := there.ListCategories(t.Context(), client.CategoriesQuery{})
				return err == nil && len(categories) > 0 && categories[0].Name == name
			})
		}
	})
	t.Run("Keys", func(t *testing.T) {
		k, secret := f.newKey(t, f.tenant)
		c := f.client(t, 1, secret)
		_, err := c.GetBalance(t.Context()) // from here on the node knows the key
		must.NoError(t, err)
		_, err = f.service().RevokeKey(t.Context(), access.Operator, k.ID)
		must.NoError(t, err)
		must.Eventually(t, longTime, "the key is refused", func() bool {
			_, err := c.GetBalance(t.Context())
			return client.IsCode(err, client.CodeUnauthorized)
		})
	})
	t.Run("Deliveries", func(t *testing.T) {
		_, err := there.CreateWebhook(t.Context(), client.CreateWebhook{
			URL: receiver.URL + "/hook", Events: []client.WebhookEvent{client.EventOrderOutcome},
		})
		must.NoError(t, err)
		for range 2 {
			f.order(t, f.secret, client.MockAuthentic)
			select {
			case <-received:
			case <-time.After(longTime):
				t.Fatal("the delivery is not sent")
			}
		}
	})
	t.Run("Desk", func(t *testing.T) { f.watchDesk(t) })
}

// watchDesk has a reviewer take an order at the first node while another looks at the second.
func (f *fleet) watchDesk(t *testing.T) {
	live := access.Tenant{AccountID: f.tenant.AccountID, Environment: access.Live}
	_, err := f.service().GrantCredits(t.Context(), access.Operator, live, 1000, "first")
	must.NoError(t, err)
	_, secret := f.newKey(t, live)
	f.order(t, secret, "")
	staff, err := f.service().CreateStaff(t.Context(), access.Operator, "mika@example.com", "Mika", access.Reviewer)
	must.NoError(t, err)
	_, token, err := f.service().StartSession(t.Context(), access.Desk, staff.Staff.ID, access.Origin{})
	must.NoError(t, err)
	send := func(ctx context.Context, node int, method, path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, f.nodes[node].BaseURL()+path, http.NoBody)
		must.NoError(t, err)
		r.AddCookie(&http.Cookie{Name: "assay_desk", Value: token})
		answer, err := http.DefaultTransport.RoundTrip(r)
		must.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	ctx, cancel := context.WithTimeout(t.Context(), longTime)
	defer cancel()
	lines := bufio.NewScanner(send(ctx, 1, http.MethodGet, "/desk/events").Body)
	until := func(word string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), word) {
				return
			}
		}
		t.Fatalf("the stream ends without %q: %v", word, lines.Err())
	}
	until("event: hello")
	if answer := send(ctx, 0, http.MethodPost, "/desk/next"); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("the order is not taken: %d", answer.StatusCode)
	}
	until(`"processing":1`)
}

// TestLimitsOverNodes checks that a limit is exact over three nodes: of many requests at the same time 300 are allowed,
// not 301 and not 299. Requests wait here as long as Redis takes; elsewhere a node decides by itself after 4 ms.
func TestLimitsOverNodes(t *testing.T) {
	const clients, each, limit = 50, 8, 300
	f := startFleet(t, func(s *Settings) { s.patience = longTime }, []string{"api", "api", "api"},
		"--redis", redistest.Start(t).URL())
	var allowed, refused atomic.Int64
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			for n := range each {
				_, err := f.client(t, (i+n)%len(f.nodes), f.secret).GetBalance(t.Context())
				switch {
				case err == nil:
					allowed.Add(1)
				case client.IsCode(err, client.CodeRateLimitExceeded):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if allowed.Load() != limit || refused.Load() != clients*each-limit {
		t.Errorf("%d allowed and %d refused, want %d and %d", allowed.Load(), refused.Load(), limit, clients*each-limit)
	}
	for i, node := range f.nodes {
		ops := "http://" + node.listener["ops-listen"].Addr().String()
		if _, metrics := fetch(t, ops+"/metrics"); !strings.Contains(metrics, "\nassay_redis_own_decisions_total 0\n") {
			t.Errorf("node %d has decided by itself", i)
		}
	}
}
