package integration

import (
	"net/http"
	"strconv"

	"github.com/assayhq/assay/internal/domain/access"
	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/httpx"
	"github.com/assayhq/assay/internal/ratelimit"
)

// authenticate returns the key of a request.
func (a *API) authenticate(r *http.Request) (*access.Key, error) {
	key, err := a.Service.Authenticate(r.Context(), httpx.Bearer(r), httpx.ClientIP(r))
	if fault.CodeOf(err) == access.Unauthenticated.Code {
		return nil, httpx.CountFailure(a.Failures, r, err)
	}
	return key, err
}

// take counts the request against the key's quota of a category and tells the quota in the response's headers.
func (a *API) take(w http.ResponseWriter, r *http.Request, key *access.Key, category string) error {
	d, err := a.Limiter.Take(r.Context(), key.ID, category, ratelimit.LimitOf(key.Limits, category))
	if err != nil {
		return fault.UnavailableError(err)
	}
	h := w.Header()
	values := []string{strconv.Itoa(d.Limit), strconv.Itoa(d.Remaining)}
	h["X-RateLimit-Limit"], h["X-RateLimit-Remaining"] = values[:1:1], values[1:]
	if d.Allowed {
		return nil
	}
	return fault.New(fault.RateLimited, fault.CodeRateLimited, "Rate limit exceeded").
		With("category", category).With("limit", d.Limit).With("window_seconds", int(ratelimit.Window.Seconds())).
		With("retry_after_seconds", httpx.RetrySeconds(d.RetryAfter)).After(d.RetryAfter)
}
