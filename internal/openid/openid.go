// Package openid lets a provider of OpenID Connect tell who sits at a browser: the authorization code flow with PKCE,
// a nonce and tokens signed by the provider's keys. Who may then do what is not decided here.
package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Config is a provider and what it knows the service as.
type Config struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	RedirectURL  string // where the provider sends browsers back to
	Now          func() time.Time

	// TrustFactor takes every sign-in there for one with a second factor: the provider asks for it and does not say so.
	TrustFactor bool

	Client *http.Client // nil: one with the system's roots
}

// Failures.
var (
	// ErrAway is for a provider that cannot be asked now.
	ErrAway = errors.New("openid: the provider cannot be reached")

	// ErrRefused is for a code or a token that proves nothing.
	ErrRefused = errors.New("openid: the answer of the provider is not accepted")
)

const (
	requestLimit  = 10 * time.Second
	maxAnswer     = 1 << 20
	discoveryLife = time.Hour // after which the provider is asked for its addresses again
	retryGap      = 5 * time.Second
)

// algorithms are those with which only the provider can sign. "none" and those with a shared secret are not among them.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512,
	oidc.EdDSA,
}

// Provider asks one provider. What it publishes about itself is fetched when it is first needed, so that the program
// starts without it.
type Provider struct {
	Config
	client *http.Client

	asking  chan struct{} // holds one while the provider is asked
	found   *discovered
	failure error     // of the last discovery
	tried   time.Time // when that ended
}

// discovered is what a provider publishes.
type discovered struct {
	provider *oidc.Provider
	at       time.Time
	keys     oidc.KeySet // fetched again for a token of a key that is not known
	namesIss bool        // it names itself in every answer (RFC 9207)
}

// New returns a provider. Nothing is asked of it yet.
func New(c Config) *Provider {
	p := &Provider{Config: c, asking: make(chan struct{}, 1)}
	base := http.DefaultTransport
	if c.Client != nil && c.Client.Transport != nil {
		base = c.Client.Transport
	}
	p.client = &http.Client{
		Transport: limited{base}, Timeout: requestLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// CheckIssuer tells what is wrong with the address of a provider: it is https, except on this machine.
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("must be an absolute URL without query, fragment and password")
	}
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return errors.New("must be https")
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// Host is the name of the provider for people.
func (p *Provider) Host() string {
	u, err := url.Parse(p.Issuer)
	if err != nil {
		return p.Issuer
	}
	return u.Host
}

// limited bounds what a provider can make the program read.
type limited struct{ base http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.base.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

// discover returns what the provider publishes, from memory where it is fresh. While it cannot be asked, what was found
// before stays good; without that, the next few seconds fail at once: those who wait do not wait for each other.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrAway, ctx.Err())
	}
	now := time.Now() // of the machine: it is about the network
	if p.found != nil && now.Sub(p.found.at) < discoveryLife {
		return p.found, nil
	}
	if p.failure != nil && now.Sub(p.tried) < retryGap {
		return nil, p.failure
	}
	d, err := p.ask(ctx)
	p.tried, p.failure = time.Now(), err
	if err == nil {
		p.found = d
		return d, nil
	}
	if p.found == nil {
		return nil, err
	}
	p.failure = nil
	p.found.at = p.tried.Add(retryGap - discoveryLife)
	return p.found, nil
}

// ask asks the provider what it publishes.
func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
	defer cancel()
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	var published struct {
		Iss  bool   `json:"authorization_response_iss_parameter_supported"`
		JWKS string `json:"jwks_uri"`
	}
	if err := found.Claims(&published); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	endpoint := found.Endpoint()
	addresses := []string{endpoint.AuthURL, endpoint.TokenURL, published.JWKS}
	if asked := found.UserInfoEndpoint(); asked != "" { // a provider may have none
		addresses = append(addresses, asked)
	}
	for _, address := range addresses {
		if err := CheckIssuer(trimQuery(address)); err != nil {
			return nil, fmt.Errorf("%w: its address %q %w", ErrAway, address, err)
		}
	}
	return &discovered{
		provider: found, at: time.Now(), namesIss: published.Iss,
		keys: oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), p.client), published.JWKS),
	}, nil
}

// trimQuery is an address without its query, which that of a provider may have.
func trimQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery = ""
	return u.String()
}

func (p *Provider) oauth(d *discovered) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: p.RedirectURL, Endpoint: d.provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// AuthURL is where a browser goes to sign in. It returns ErrAway.
func (p *Provider) AuthURL(ctx context.Context, state, nonce, verifier string) (string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.oauth(d).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// NewVerifier returns a secret of PKCE.
func NewVerifier() string { return oauth2.GenerateVerifier() }

// Identity is who signed in at the provider.
type Identity struct {
	Subject  string
	Email    string
	Verified bool // the provider knows that the mailbox is theirs
	Factor   bool // more than a password was asked for
}

// claims are what is read of a token.
type claims struct {
	Email    string   `json:"email"`
	Verified flag     `json:"email_verified"`
	AMR      []string `json:"amr"`
	AZP      string   `json:"azp"`
}

// flag is a truth value that some providers write as a text.
type flag bool

// UnmarshalJSON takes true and "true"; everything else is false.
func (f *flag) UnmarshalJSON(b []byte) error {
	*f = string(b) == "true" || string(b) == `"true"`
	return nil
}

// Redeem takes the code with which a browser came back, and the issuer that came with it. It returns ErrAway or
// ErrRefused.
func (p *Provider) Redeem(ctx context.Context, code, issuer, nonce, verifier string) (*Identity, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	if issuer != p.Issuer && (issuer != "" || d.namesIss) {
		return nil, fmt.Errorf("%w: the browser comes back from another issuer", ErrRefused)
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), requestLimit)
	defer cancel()
	token, err := p.oauth(d).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, exchangeFailed(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, fmt.Errorf("%w: there is no id_token", ErrRefused)
	}
	keys := &watchedKeys{KeySet: d.keys}
	verified, err := oidc.NewVerifier(p.Issuer, keys, &oidc.Config{
		ClientID: p.ClientID, SupportedSigningAlgs: algorithms, Now: p.Now,
	}).Verify(ctx, raw)
	if err != nil {
		if keys.away {
			return nil, fmt.Errorf("%w: %w", ErrAway, err)
		}
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(nonce)) != 1:
		return nil, fmt.Errorf("%w: the nonce is another", ErrRefused)
	case len(verified.Audience) > 1 && c.AZP == "", c.AZP != "" && c.AZP != p.ClientID:
		return nil, fmt.Errorf("%w: the token is for another client", ErrRefused)
	}
	who := &Identity{
		Subject: verified.Subject, Email: c.Email, Verified: bool(c.Verified),
		Factor: p.TrustFactor || slices.Contains(c.AMR, "mfa"),
	}
	if who.Email == "" {
		err = p.askForEmail(ctx, d, token, who)
	}
	return who, err
}

// askForEmail asks for what the token does not say.
func (p *Provider) askForEmail(ctx context.Context, d *discovered, token *oauth2.Token, who *Identity) error {
	if d.provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	if info.Subject != who.Subject {
		return fmt.Errorf("%w: the information is about somebody else", ErrRefused)
	}
	who.Email, who.Verified = info.Email, info.EmailVerified
	return nil
}

// exchangeFailed tells a provider that refuses a code from one that does not answer.
func exchangeFailed(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := refused.Response.StatusCode
		if status >= http.StatusInternalServerError {
			return fmt.Errorf("%w: status %d", ErrAway, status)
		}
		return fmt.Errorf("%w: status %d, %q", ErrRefused, status, refused.ErrorCode)
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// watchedKeys remembers whether a token could not be checked because the provider's keys could not be fetched.
type watchedKeys struct {
	oidc.KeySet
	away bool
}

// VerifySignature checks a token with the provider's keys.
func (k *watchedKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	if _, ok := errors.AsType[*url.Error](err); ok {
		k.away = true
	}
	return payload, err
}
