package deliver

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/assayhq/assay/internal/testkit/outbox"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// clientID must be form-encoded for HTTP Basic.
const clientID = "client: ü+&=%/?"

// authority is a real OAuth2 server.
type authority struct {
	*httptest.Server
	provider *op.Provider
	clients  *clients
	requests atomic.Int64
	// before, if set, may respond in place of the server.
	before func(w http.ResponseWriter, r *http.Request) (answered bool)
}

// clients is the server's database, with one client for client credentials.
type clients struct {
	*storage.Storage
	mu     sync.Mutex
	scopes [][]string // of the requests
	agents []string
}

func (c *clients) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	if id != clientID || secret != outbox.Secret {
		return nil, errors.New("wrong id or secret")
	}
	return c.Storage.ClientCredentials(ctx, "sid1", "verysecret") // the client that the library's own storage knows
}

func (c *clients) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest,
	error,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = append(c.scopes, scopes)
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{id}, Scopes: scopes}, nil
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{clients: &clients{Storage: storage.NewStorage(storage.NewUserStore("https://authority.example"))}}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		a.clients.mu.Lock()
		a.clients.agents = append(a.clients.agents, r.UserAgent())
		a.clients.mu.Unlock()
		if a.before == nil || !a.before(w, r) {
			a.provider.ServeHTTP(w, r)
		}
	}))
	a.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.StartTLS()
	t.Cleanup(a.Close)
	provider, err := op.NewProvider(&op.Config{CryptoKey: sha256.Sum256([]byte("test"))}, a.clients,
		op.StaticIssuer(a.URL),
		op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	a.provider = provider
	return a
}

func (a *authority) oauth() *webhook.OAuth {
	return &webhook.OAuth{TokenURL: a.URL + "/oauth/token", ClientID: clientID}
}

// verify reports whether the request has a token that the server issued.
func (a *authority) verify(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return false
	}
	content, err := a.provider.Crypto().Decrypt(token)
	return err == nil && strings.HasSuffix(content, ":"+clientID)
}

// newProtected starts a receiver that requires a token of the authority.
func newProtected(t testing.TB, w *world, a *authority) *receiver {
	return newReceiver(t, w.clock, func(w http.ResponseWriter, r *http.Request) {
		if !a.verify(r) {
			w.WriteHeader(http.StatusForbidden)
		}
	})
}

func TestOAuthDelivery(t *testing.T) {
	w, a := sqliteWorld(t), newAuthority(t)
	r := newProtected(t, w, a)
	e := w.Endpoint(r.URL, a.oauth())
	withScope := a.oauth()
	withScope.Scope = "orders webhooks:receive"
	scoped := w.Endpoint(r.URL+"/scoped", withScope)
	all := w.queue(10, e, scoped)
	w.start(r, nil)
	must.Eventually(t, patient, "the deliveries", func() bool { return w.pending() == 0 })
	for _, d := range all {
		if got := w.Delivery(d.ID); got.Status != webhook.Delivered || got.Attempts != 1 {
			t.Errorf("delivery: %+v, %+v", got, w.Attempts(d.ID))
		}
	}
	for _, request := range r.all() {
		for _, name := range []string{"X-LG-Signature", "X-LG-Timestamp"} {
			if _, ok := request.header[http.CanonicalHeaderKey(name)]; ok {
				t.Errorf("a delivery with a token carries %s", name)
			}
		}
		if request.header.Get("X-LG-Event") != "order-outcome" || request.header.Get("X-LG-Delivery-Id") == "" {
			t.Errorf("headers: %v", request.header)
		}
	}
	if n := a.requests.Load(); n != 2 {
		t.Errorf("%d tokens were fetched for two endpoints", n)
	}
	a.clients.mu.Lock()
	defer a.clients.mu.Unlock()
	var scopes []string
	for _, s := range a.clients.scopes {
		scopes = append(scopes, strings.Join(s, " "))
	}
	if got := strings.Join(scopes, ","); got != ",orders webhooks:receive" && got != "orders webhooks:receive," {
		t.Errorf("scopes: %q", got)
	}
	for _, agent := range a.clients.agents {
		if agent != userAgent {
			t.Errorf("the token was fetched as %q", agent)
		}
	}
}

func TestTokenIsKeptUntilShortlyBeforeItExpires(t *testing.T) {
	w, a := sqliteWorld(t), newAuthority(t) // its tokens live five minutes
	r := newProtected(t, w, a)
	e := w.Endpoint(r.URL, a.oauth())
	s := w.start(r, nil)
	for _, step := range []struct {
		advance time.Duration
		fetched int64
	}{{0, 1}, {3*time.Minute + 59*time.Second, 1}, {2 * time.Second, 2}, {time.Minute, 2}} {
		w.clock.Advance(step.advance)
		w.queue(1, e)
		s.Wake()
		must.Eventually(t, patient, "the delivery", func() bool { return w.pending() == 0 })
		if n := a.requests.Load(); n != step.fetched {
			t.Errorf("%s later %d tokens were fetched, want %d", step.advance, n, step.fetched)
		}
	}
}

func TestTokenIsDroppedAfter401(t *testing.T) {
	w, a := sqliteWorld(t), newAuthority(t)
	var requests atomic.Int64
	r := newReceiver(t, w.clock, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 2 || !a.verify(r) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	e := w.Endpoint(r.URL, a.oauth())
	s := w.start(r, nil)
	for range 2 {
		d := w.queue(1, e)[0]
		s.Wake()
		must.Eventually(t, patient, "the attempt", func() bool { return len(w.Attempts(d.ID)) == 1 })
	}
	if n := a.requests.Load(); n != 1 {
		t.Fatalf("%d tokens for the first two attempts", n)
	}
	w.clock.Advance(2 * time.Minute)
	s.Wake()
	must.Eventually(t, patient, "the repeated attempt", func() bool { return w.pending() == 0 })
	if n := a.requests.Load(); n != 2 {
		t.Errorf("%d tokens after a 401", n)
	}
	got := r.all()
	if first, second := got[1].header.Get("Authorization"), got[2].header.Get("Authorization"); first == second {
		t.Error("the refused token was sent again")
	}
}

// TestTokenFetchOutlivesItsFirstCaller checks that a delivery that ends does not fail others waiting for the token.
func TestTokenFetchOutlivesItsFirstCaller(t *testing.T) {
	w, a := sqliteWorld(t), newAuthority(t)
	asked, release := make(chan struct{}), make(chan struct{})
	a.before = func(http.ResponseWriter, *http.Request) bool {
		close(asked)
		<-release
		return false
	}
	r := newProtected(t, w, a)
	s := w.sender(r, nil)
	e := w.Endpoint(r.URL, a.oauth())
	first, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() {
		_, err := s.http.tokens.get(first, e, outbox.Secret)
		errs <- err
	}()
	<-asked
	go func() {
		token, err := s.http.tokens.get(t.Context(), e, outbox.Secret)
		if err == nil && token == "" {
			err = errors.New("no token")
		}
		errs <- err
	}()
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("the first caller: %v", err)
	}
	close(release)
	if err := <-errs; err != nil {
		t.Errorf("the second caller: %v", err)
	}
	if n := a.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestTokenCacheIsBounded: receivers choose the length of their tokens and how long these are valid.
func TestTokenCacheIsBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	tokens := newTokens(nil, time.Second, func() time.Time { return now })
	for i := range 2 * maxTokens {
		tokens.put(strconv.Itoa(i), token{strings.Repeat("t", maxToken), now.Add(time.Hour)})
	}
	if tokens.bytes > maxTokenBytes || len(tokens.cache)*maxToken != tokens.bytes {
		t.Errorf("%d tokens of %d bytes are kept", len(tokens.cache), tokens.bytes)
	}
	for i := range 2 * maxTokens {
		tokens.put(strconv.Itoa(i), token{"t", now.Add(time.Hour)})
	}
	if len(tokens.cache) > maxTokens || tokens.bytes > maxTokenBytes {
		t.Errorf("%d tokens of %d bytes are kept", len(tokens.cache), tokens.bytes)
	}
	last := strconv.Itoa(2*maxTokens - 1)
	if _, ok := tokens.cached(last); !ok {
		t.Error("the newest token is not kept")
	}
	tokens.drop(last, "t")
	if _, ok := tokens.cached(last); ok {
		t.Error("a token is kept that was dropped")
	}
}
