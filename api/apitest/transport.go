package apitest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Transport returns a round tripper that sends requests through next (http.DefaultTransport if nil) and checks
// every response under the path prefix of the API. It is safe for concurrent use.
func (v *Validator) Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return transport{validator: v, next: next}
}

type transport struct {
	validator *Validator
	next      http.RoundTripper
}

// RoundTrip sends the request and checks the response. The caller can still read the body.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	path := req.URL.EscapedPath()
	if prefix := t.validator.prefix; path != prefix && !strings.HasPrefix(path, prefix+"/") {
		return t.next.RoundTrip(req)
	}
	x := exchange{method: req.Method, path: path, query: req.URL.Query(), requestHeader: req.Header}
	if isJSON(req) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, fmt.Errorf("read request body: %w", err)
		}
		if err := req.Body.Close(); err != nil {
			return nil, fmt.Errorf("close request body: %w", err)
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
		x.requestBody = body
	}
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	x.body, err = io.ReadAll(res.Body)
	if closeErr := res.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read response body: %w", err)
	}
	res.Body = io.NopCloser(bytes.NewReader(x.body))
	x.status, x.header = res.StatusCode, res.Header
	t.validator.check(x)
	return res, nil
}

// isJSON reports whether the API reads the body as JSON, which includes one without a type.
func isJSON(req *http.Request) bool {
	if req.Body == nil || req.Body == http.NoBody {
		return false
	}
	declared := req.Header.Get("Content-Type")
	if declared == "" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(declared)
	return err == nil && mediaType == jsonType
}
