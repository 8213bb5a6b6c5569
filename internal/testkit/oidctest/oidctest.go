// Package oidctest gives tests a real provider of OpenID Connect, with people, keys that can be replaced, and ways to
// misbehave.
package oidctest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/assayhq/assay/internal/testkit/must"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// What the provider knows the service as.
const (
	ClientID     = "assay"
	ClientSecret = "the secret of the service at the provider"
)

// Provider is a server.
type Provider struct {
	*httptest.Server
	provider *op.Provider
	storage  *state

	mu sync.Mutex
	// Answer, if set, may answer in place of the provider.
	answer func(w http.ResponseWriter, r *http.Request) bool
	// forge, if set, replaces the token that was made.
	forge func(claims map[string]any) string
}

// state is what the provider keeps.
type state struct {
	*storage.Storage
	users map[string]*storage.User

	mu  sync.Mutex
	key *signingKey
}

func (s *state) SigningKey(context.Context) (op.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key, nil
}

func (s *state) KeySet(context.Context) ([]op.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []op.Key{publicKey{s.key}}, nil
}

// GetUserByID returns a person by what tokens call them.
func (s *state) GetUserByID(id string) *storage.User { return s.users[id] }

// GetUserByUsername returns a person by what they type.
func (s *state) GetUserByUsername(name string) *storage.User { return s.users[name] }

// ExampleClientID is asked for by the library.
func (s *state) ExampleClientID() string { return storage.ServiceUserID }

type signingKey struct {
	id  string
	key *rsa.PrivateKey
}

func (k *signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k *signingKey) Key() any                                    { return k.key }
func (k *signingKey) ID() string                                  { return k.id }

type publicKey struct{ *signingKey }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return &k.key.PublicKey }

// New starts a provider that sends browsers back to an address.
func New(t testing.TB, redirectURL string) *Provider {
	t.Helper()
	s := &state{users: make(map[string]*storage.User)}
	s.Storage = storage.NewStorageWithClients(s, map[string]*storage.Client{
		ClientID: storage.WebClient(ClientID, ClientSecret, redirectURL),
	})
	p := &Provider{storage: s}
	p.RotateKeys(t)
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	var err error
	p.provider, err = op.NewProvider(
		&op.Config{CryptoKey: sha256.Sum256([]byte("test")), CodeMethodS256: true}, s, op.StaticIssuer(p.URL),
		op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	must.NoError(t, err)
	return p
}

// Person adds somebody, who signs in with their email alone.
func (p *Provider) Person(email string, verified bool) {
	p.storage.users[email] = &storage.User{
		ID: email, Username: email, Email: email, EmailVerified: verified, FirstName: "Some", LastName: "One",
	}
}

// RotateKeys replaces the key with which tokens are signed. Tokens of the old one are not accepted any more.
func (p *Provider) RotateKeys(t testing.TB) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must.NoError(t, err)
	p.storage.mu.Lock()
	defer p.storage.mu.Unlock()
	p.storage.key = &signingKey{uuid.NewString(), key}
}

// Answer lets f answer requests; it tells whether it has. Nil: the provider answers.
func (p *Provider) Answer(f func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// Forge replaces the tokens that are made by what f makes of their claims. Nil: they are left alone.
func (p *Provider) Forge(f func(claims map[string]any) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forge = f
}

// Change returns a function for Forge that changes claims and signs the token with the provider's key.
func (p *Provider) Change(t testing.TB, changes map[string]any) func(map[string]any) string {
	return func(claims map[string]any) string {
		maps.Copy(claims, changes)
		p.storage.mu.Lock()
		key := p.storage.key
		p.storage.mu.Unlock()
		return Sign(t, jose.RS256, key.key, key.id, claims)
	}
}

// Sign makes a token.
func Sign(t testing.TB, alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	must.NoError(t, err)
	text, err := json.Marshal(claims)
	must.NoError(t, err)
	signed, err := signer.Sign(text)
	must.NoError(t, err)
	token, err := signed.CompactSerialize()
	must.NoError(t, err)
	return token
}

const (
	loginPath = "/login/username"
	tokenPath = "/oauth/token"
)

// ServeHTTP answers as the provider does.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer, forge := p.answer, p.forge
	p.mu.Unlock()
	switch {
	case answer != nil && answer(w, r):
	case r.URL.Path == loginPath:
		p.login(w, r)
	case r.URL.Path == tokenPath && forge != nil:
		p.serveForged(w, r, forge)
	default:
		p.provider.ServeHTTP(w, r)
	}
}

// login is the page where somebody signs in.
func (p *Provider) login(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("authRequestID")
	if r.Method == http.MethodPost {
		if err := p.storage.CheckUsernamePassword(r.FormValue("email"), "", id); err == nil {
			http.Redirect(w, r, op.AuthCallbackURL(p.provider)(op.ContextWithIssuer(r.Context(), p.URL), id), http.StatusFound)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Provider</title><link rel="icon" href="data:,">
<form method="post"><input type="hidden" name="authRequestID" value="%s">
<label>Email <input name="email" id="email"></label><button id="go">Sign in</button></form>`, html.EscapeString(id))
}

// serveForged answers with another token than the one that was made.
func (p *Provider) serveForged(w http.ResponseWriter, r *http.Request, forge func(map[string]any) string) {
	real := httptest.NewRecorder()
	p.provider.ServeHTTP(real, r)
	var answer map[string]any
	if real.Code != http.StatusOK || json.Unmarshal(real.Body.Bytes(), &answer) != nil {
		maps.Copy(w.Header(), real.Header())
		w.WriteHeader(real.Code)
		_, _ = real.Body.WriteTo(w)
		return
	}
	token, _ := answer["id_token"].(string)
	claims := make(map[string]any)
	if parts := strings.Split(token, "."); len(parts) == 3 {
		if signed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256}); err == nil {
			decoder := json.NewDecoder(bytes.NewReader(signed.UnsafePayloadWithoutVerification()))
			decoder.UseNumber()
			_ = decoder.Decode(&claims)
		}
	}
	if answer["id_token"] = forge(claims); answer["id_token"] == "" {
		delete(answer, "id_token")
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}
