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
	// unknownLifetime is how long a token is kept whose server does not say how long it lives.
	unknownLifetime = 5 * time.Minute

	// maxMargin is how long before its end, at most, a token is no longer used; for short-lived tokens it is a fifth of
	// their life.
	maxMargin = time.Minute

	maxTokens = 4096 // remembered; the expired ones beyond it are forgotten
)

// tokens fetches access tokens with the client-credentials grant and keeps each until shortly before it expires. An
// endpoint's credentials never change, so its id is the key.
type tokens struct {
	client  *http.Client
	timeout time.Duration
	now     func() time.Time

	fetches singleflight.Group
	mu      sync.Mutex
	kept    map[string]token
}

type token struct {
	value   string
	expires time.Time
}

func newTokens(client *http.Client, timeout time.Duration, now func() time.Time) *tokens {
	return &tokens{client: client, timeout: timeout, now: now, kept: make(map[string]token)}
}

// tokenError says why there is no access token.
type tokenError struct {
	cause  error
	answer []byte // of the token URL, when it refused
}

func (e *tokenError) Error() string { return "fetch access token: " + e.cause.Error() }

func (e *tokenError) Unwrap() error { return e.cause }

// get returns an access token for the endpoint. Callers that come while one is being fetched wait for that one. Its
// error is a *tokenError, or that of ctx.
func (t *tokens) get(ctx context.Context, e *webhook.Endpoint, clientSecret string) (string, error) {
	if value, ok := t.known(e.ID); ok {
		return value, nil
	}
	// The fetch is not tied to the delivery that happens to be first: its end must not fail the others.
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

func (t *tokens) known(endpointID string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, ok := t.kept[endpointID]
	return kept.value, ok && t.now().Before(kept.expires)
}

// drop forgets the endpoint's token if it is still the given one.
func (t *tokens) drop(endpointID, value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept[endpointID].value == value {
		delete(t.kept, endpointID)
	}
}

func (t *tokens) keep(endpointID string, kept token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) >= maxTokens {
		now := t.now()
		for id, k := range t.kept {
			if !now.Before(k.expires) {
				delete(t.kept, id)
			}
		}
	}
	t.kept[endpointID] = kept
}

// fetch asks the token URL. Id and secret go as HTTP Basic, form-encoded as RFC 6749, 2.3.1 says; of the answer at most
// 1 MiB is read.
func (t *tokens) fetch(ctx context.Context, e *webhook.Endpoint, clientSecret string) (string, error) {
	config := clientcredentials.Config{
		ClientID:     e.OAuth.ClientID,
		ClientSecret: clientSecret,
		TokenURL:     e.OAuth.TokenURL,
		AuthStyle:    oauth2.AuthStyleInHeader,
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
	t.keep(e.ID, token{value: got.AccessToken, expires: t.now().Add(lifetime)})
	return got.AccessToken, nil
}

// sendable says whether the token is visible ASCII.
func sendable(token string) bool {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return false
		}
	}
	return token != ""
}
