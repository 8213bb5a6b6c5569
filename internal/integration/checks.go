package integration

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/ratelimit"
)

// authenticate returns the key of a request. An address with too many failures is told to wait instead; a valid key
// from the same address is not affected.
func (a *API) authenticate(r *http.Request) (*access.Key, error) {
	key, err := a.Service.Authenticate(r.Context(), bearer(r))
	if err == nil {
		return key, nil
	}
	if fault.CodeOf(err) == access.Unauthenticated.Code {
		address := httpx.ClientIP(r)
		if wait, blocked := a.Failures.Blocked(address); blocked {
			seconds := httpx.RetrySeconds(wait)
			return nil, fault.New(fault.RateLimited, fault.CodeRateLimited, "Too many failed authentications from this address.").
				With("retry_after_seconds", seconds).After(wait)
		}
		a.Failures.Failed(address)
	}
	return nil, err
}

// bearer returns the token of the Authorization header, or "".
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// take counts the request against the key's quota of a category and tells the quota in the response's headers.
func (a *API) take(w http.ResponseWriter, r *http.Request, key *access.Key, category string) error {
	limit, ok := key.Limits[category]
	if !ok {
		limit = ratelimit.DefaultLimit(category)
	}
	d, err := a.Limiter.Take(r.Context(), key.ID, category, limit)
	if err != nil {
		return fault.UnavailableError(err)
	}
	h := w.Header()
	h["X-RateLimit-Limit"] = []string{strconv.Itoa(d.Limit)}
	h["X-RateLimit-Remaining"] = []string{strconv.Itoa(d.Remaining)}
	if d.Allowed {
		return nil
	}
	return fault.New(fault.RateLimited, fault.CodeRateLimited, "Rate limit exceeded").
		With("category", category).With("limit", d.Limit).With("window_seconds", int(ratelimit.Window.Seconds())).
		With("retry_after_seconds", httpx.RetrySeconds(d.RetryAfter)).After(d.RetryAfter)
}
