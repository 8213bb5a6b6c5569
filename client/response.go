package client

import (
	"net/http"
	"strconv"
)

// Response describes one answer of the service to one attempt. See [WithResponseHook].
type Response struct {
	Method     string
	Path       string // as requested, escaped, without the query
	Attempt    int    // 1 for the first
	StatusCode int
	RequestID  string      // X-Request-Id; empty when something else than the service answered
	RateLimit  *RateLimit  // nil when the answer does not tell
	Header     http.Header // to be read only
}

// RateLimit is what an answer tells about the quota of the API key in the category of the operation.
type RateLimit struct {
	Limit     int // requests in a window of 60 seconds
	Remaining int // requests left in the current window
}

func newResponse(resp *http.Response, method, path string, attempt int) Response {
	return Response{
		Method:     method,
		Path:       path,
		Attempt:    attempt,
		StatusCode: resp.StatusCode,
		RequestID:  resp.Header.Get("X-Request-Id"),
		RateLimit:  rateLimit(resp.Header),
		Header:     resp.Header,
	}
}

func rateLimit(header http.Header) *RateLimit {
	limit, err := strconv.Atoi(header.Get("X-RateLimit-Limit"))
	if err != nil {
		return nil
	}
	remaining, err := strconv.Atoi(header.Get("X-RateLimit-Remaining"))
	if err != nil {
		return nil
	}
	return &RateLimit{Limit: limit, Remaining: remaining}
}
