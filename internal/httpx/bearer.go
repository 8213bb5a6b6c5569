package httpx

import (
	"net/http"
	"strings"

	"github.com/assayhq/assay/internal/domain/fault"
	"github.com/assayhq/assay/internal/ratelimit"
)

// Bearer returns the token of the Authorization header, or "". Two headers are as good as none: a proxy may take the
// one that is not taken here.
func Bearer(r *http.Request) string {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// CountFailure counts a failed authentication against the address of the request and returns the refusal, or, from an
// address with too many failures, the advice to wait. It is called for failures only: a valid token from the same
// address is not affected.
func CountFailure(f ratelimit.FailureCounter, r *http.Request, refusal error) error {
	if wait, blocked := f.Fail(r.Context(), ClientIP(r)); blocked {
		return fault.New(fault.RateLimited, fault.CodeRateLimited, "Too many failed authentications from this address.").
			With("retry_after_seconds", RetrySeconds(wait)).After(wait)
	}
	return refusal
}
