package integrationtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/assayhq/assay/internal/api/integration"
	"github.com/assayhq/assay/internal/domain/access"
)

// M is a JSON object.
type M = map[string]any

// Client sends requests with one API key from one address.
type Client struct {
	World   *World
	Account *Account
	Key     *access.Key
	Secret  string // empty: no Authorization header
	Address string
}

// Request is one request to the API.
type Request struct {
	Method string
	Path   string // below the prefix, in escaped form, with its query
	Body   any    // nil: none; string and []byte are sent as they are, everything else as JSON
	Header http.Header
}

// Send sends the request and returns the answer, which has been checked against the OpenAPI document.
func (c *Client) Send(t testing.TB, r Request) *Response {
	t.Helper()
	var body io.Reader
	switch b := r.Body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	case []byte:
		body = bytes.NewReader(b)
	case io.Reader:
		body = b
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(t.Context(), r.Method, c.World.Server.URL+integration.Prefix+r.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if c.Secret != "" && r.Header["Authorization"] == nil {
		req.Header.Set("Authorization", "Bearer "+c.Secret)
	}
	req.Header.Set(addressHeader, c.Address)
	res, err := c.World.validator.For(t).Transport(c.World.Server.Client().Transport).RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.Path, err)
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return &Response{Request: r.Method + " " + r.Path, Status: res.StatusCode, Header: res.Header, Body: answer}
}

// Get reads.
func (c *Client) Get(t testing.TB, path string, header ...string) *Response {
	t.Helper()
	return c.Send(t, Request{Method: http.MethodGet, Path: path, Header: headers(header)})
}

// Post sends a body.
func (c *Client) Post(t testing.TB, path string, body any, header ...string) *Response {
	t.Helper()
	return c.Send(t, Request{Method: http.MethodPost, Path: path, Body: body, Header: headers(header)})
}

// Delete deletes.
func (c *Client) Delete(t testing.TB, path string, header ...string) *Response {
	t.Helper()
	return c.Send(t, Request{Method: http.MethodDelete, Path: path, Header: headers(header)})
}

// headers makes a header of names and values by turns.
func headers(list []string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(list); i += 2 {
		h.Add(list[i], list[i+1])
	}
	return h
}
