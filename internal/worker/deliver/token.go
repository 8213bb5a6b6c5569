package deliver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"
)

const (
	// unknownLifetime is how long a token without an expiry is used.
	unknownLifetime = 5 * time.Minute

	// maxMargin is the longest time before its expiry at which a token is no longer used; for short-lived tokens it is
	// a fifth of their lifetime.
	maxMargin = time.Minute

	maxTokens = 4096 // in the cache; expired ones beyond it are removed
)

// tokens fetches and caches access tokens (client-credentials grant). The credentials of an endpoint never change,
// so that its id is the key.
type tokens struct {
	client  *http.Client
	timeout time.Duration
	now     func() time.Time

	fetches singleflight.Group
	mu      sync.Mutex
	cache   map[string]token
}

type token struct {
	value   string
	expires time.Time
}

func newTokens(client *http.Client, timeout time.Duration, now func() time.Time) *tokens {
	return &tokens{client: client, timeout: timeout, now: now, cache: make(map[string]token)}
}

// tokenError says why there is no access token.
type tokenError struct {
	cause  error
	answer []byte // response of the token URL, if any
}

func (e *tokenError) Error() string { return "fetch access token: " + e.cause.Error() }

func (e *tokenError) Unwrap() error { return e.cause }

// get returns an access token for the endpoint. Concurrent callers share one fetch. The error is a *tokenError, or
// that of ctx.
func (t *tokens) get(ctx context.Context, e *webhook.Endpoint, clientSecret string) (string, error) {
	if value, ok := t.cached(e.ID); ok {
		return value, nil
	}
	// The fetch must not depend on the context of the first caller, which may end before the others.
	fetched := t.fetches.DoChan(e.ID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.timeout)
		defer cancel()
		return t.fetch(ctx, e, clientSecret)
	})
	select {
	case result := <-fetched:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (t *tokens) cached(endpointID string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, ok := t.cache[endpointID]
	return kept.value, ok && t.now().Before(kept.expires)
}

// drop removes the endpoint's token if it is still the given one.
func (t *tokens) drop(endpointID, value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cache[endpointID].value == value {
		delete(t.cache, endpointID)
	}
}

func (t *tokens) put(endpointID string, kept token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.cache) >= maxTokens {
		now := t.now()
		for id, k := range t.cache {
			if !now.Before(k.expires) {
				delete(t.cache, id)
			}
		}
	}
	t.cache[endpointID] = kept
}

// fetch requests a token. Id and secret are sent as HTTP Basic, form-encoded (RFC 6749, 2.3.1); at most 1 MiB of
// the response is read.
func (t *tokens) fetch(ctx context.Context, e *webhook.Endpoint, clientSecret string) (string, error) {
	config := clientcredentials.Config{
		ClientID: e.OAuth.ClientID, ClientSecret: clientSecret, TokenURL: e.OAuth.TokenURL,
		AuthStyle: oauth2.AuthStyleInHeader,
	}
	if e.OAuth.Scope != "" {
		config.Scopes = []string{e.OAuth.Scope}
	}
	got, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if err != nil {
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) {
			return "", &tokenError{
				cause:  fmt.Errorf("the token URL answered %d %s", refused.Response.StatusCode, refused.ErrorCode),
				answer: refused.Body,
			}
		}
		return "", &tokenError{cause: err}
	}
	if !sendable(got.AccessToken) {
		return "", &tokenError{cause: errors.New("the access token has characters that no header can carry")}
	}
	lifetime := unknownLifetime
	if !got.Expiry.IsZero() {
		lifetime = time.Until(got.Expiry)
	}
	lifetime -= min(lifetime/5, maxMargin)
	t.put(e.ID, token{value: got.AccessToken, expires: t.now().Add(lifetime)})
	return got.AccessToken, nil
}

// sendable reports whether the token is visible ASCII.
func sendable(token string) bool {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return false
		}
	}
	return token != ""
}
