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
	RequestID  string      // X-Request-Id; empty if the answer is not from the service
	RateLimit  *RateLimit  // nil if the answer has none
	Header     http.Header // to be read only
}

// RateLimit is the quota of the API key in the category of the operation.
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
