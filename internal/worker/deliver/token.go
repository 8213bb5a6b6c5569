package deliver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/assayhq/assay/internal/domain/webhook"
	"golang.org/x/sync/singleflight"
)

const (
	// unknownLifetime is how long a token without an expiry is used.
	unknownLifetime = 5 * time.Minute

	// maxMargin is the longest time before its expiry at which a token is no longer used; for short-lived tokens it is
	// a fifth of their lifetime.
	maxMargin = time.Minute

	// The receivers choose how long their tokens are and live: beyond these bounds the cache gives some up.
	maxTokens     = 4096
	maxTokenBytes = 16 << 20
)

// tokens fetches and caches access tokens (client-credentials grant). The credentials of an endpoint never change,
// so that its id is the key.
type tokens struct {
	transport http.RoundTripper
	timeout   time.Duration // of a fetch
	now       func() time.Time

	fetches singleflight.Group
	mu      sync.Mutex
	cache   map[string]token
	bytes   int // of all values in the cache
}

type token struct {
	value   string
	expires time.Time
}

func newTokens(transport http.RoundTripper, timeout time.Duration, now func() time.Time) *tokens {
	return &tokens{transport: transport, timeout: timeout, now: now, cache: make(map[string]token)}
}

// tokenError says why there is no access token.
type tokenError struct {
	cause  error
	answer string // for the log of attempts: what happened, and on further lines the response, if any
}

func (e *tokenError) Error() string { return "fetch access token: " + e.cause.Error() }

func (e *tokenError) Unwrap() error { return e.cause }

// get returns an access token for the endpoint, within the time limit of a fetch. Concurrent callers share one. The
// error is a *tokenError, or that of ctx.
func (t *tokens) get(ctx context.Context, e *webhook.Endpoint, clientSecret string) (string, error) {
	if value, ok := t.cached(e.ID); ok {
		return value, nil
	}
	// The fetch must not depend on the context of the first caller, which may end before the others.
	fetched := t.fetches.DoChan(e.ID, func() (_ any, err error) {
		defer func() {
			if panicked := panicError(recover()); panicked != nil { // which would end the program
				err = &tokenError{panicked, "fetching it failed"}
			}
		}()
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
		t.remove(endpointID)
	}
}

func (t *tokens) put(endpointID string, kept token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(endpointID)
	full := func() bool { return len(t.cache) >= maxTokens || t.bytes+len(kept.value) > maxTokenBytes }
	if full() {
		now := t.now()
		for id, k := range t.cache {
			if !now.Before(k.expires) {
				t.remove(id)
			}
		}
	}
	for id := range t.cache { // any of them: it is fetched again
		if !full() {
			break
		}
		t.remove(id)
	}
	t.cache[endpointID] = kept
	t.bytes += len(kept.value)
}

// remove must be called with t.mu held.
func (t *tokens) remove(endpointID string) {
	t.bytes -= len(t.cache[endpointID].value)
	delete(t.cache, endpointID)
}

// fetch requests a token and keeps it.
func (t *tokens) fetch(ctx context.Context, e *webhook.Endpoint, clientSecret string) (string, error) {
	request, err := tokenRequest(ctx, e.OAuth, clientSecret)
	if err != nil {
		return "", &tokenError{cause: err, answer: "the token URL cannot be called"}
	}
	response, err := t.transport.RoundTrip(request)
	if err != nil {
		return "", &tokenError{cause: err, answer: tokenFailures[failureOf(err)]}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTokenAnswer+1))
	if err == nil { // a server that is told of the end of the time may end its response before the connection is closed
		err = ctx.Err()
	}
	got, problem := readToken(response, body, err)
	if problem != "" {
		return "", &tokenError{
			cause:  errors.New("the token URL answered " + problem),
			answer: problem + "\n" + withoutSecrets(body, e.OAuth, clientSecret),
		}
	}
	got.lifetime -= min(got.lifetime/5, maxMargin)
	t.put(e.ID, token{value: got.value, expires: t.now().Add(got.lifetime)})
	return got.value, nil
}
