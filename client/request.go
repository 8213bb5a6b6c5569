package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// request is one API call, to be sent once or several times.
type request struct {
	method      string
	path        string // below the base URL, escaped
	query       params
	json        any       // the body before it is encoded
	body        []byte    // sent again with each attempt
	stream      io.Reader // instead of body; such a request cannot be repeated
	contentType string    // of body or stream
	header      map[string]string
	repeatable  bool
}

// checkedAnswer is an answer that knows which of its indispensable properties is absent, so that a foreign JSON
// document with status 200 is not taken for an empty result.
type checkedAnswer interface {
	missing() string
}

// answerTo sends r as do does and returns the answer.
func answerTo[T any](ctx context.Context, c *Client, r request) (*T, error) {
	var answer T
	if _, err := c.do(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// read returns what is at path, with retries.
func read[T any](ctx context.Context, c *Client, path string, query params) (*T, error) {
	return answerTo[T](ctx, c, request{method: http.MethodGet, path: path, query: query, repeatable: true})
}

// send posts body as JSON once and returns the answer.
func send[T any](ctx context.Context, c *Client, path string, body any) (*T, error) {
	return answerTo[T](ctx, c, request{method: http.MethodPost, path: path, json: body})
}

// sendTo is send to an action of an item.
func sendTo[T any](ctx context.Context, c *Client, k collection, id, action string, body any) (*T, error) {
	path, err := k.item(id)
	if err != nil {
		return nil, err
	}
	return send[T](ctx, c, path+action, body)
}

// remove deletes an item with a request that is sent once.
func (c *Client) remove(ctx context.Context, k collection, id string) error {
	path, err := k.item(id)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, request{method: http.MethodDelete, path: path}, nil)
	return err
}

const contentTypeJSON = "application/json"

// do sends r, repeats it as the retry policy says, and decodes the body of a success into answer unless that is nil.
func (c *Client) do(ctx context.Context, r request, answer any) (http.Header, error) {
	if r.json != nil {
		var err error
		if r.body, err = json.Marshal(r.json); err != nil {
			return nil, fmt.Errorf("assay: encode the request: %w", err)
		}
		r.contentType = contentTypeJSON
	}
	unsettled := false
	for attempt := 1; ; attempt++ {
		header, err := c.attempt(ctx, r, attempt, answer)
		if err == nil || !r.repeatable {
			return header, err
		}
		if final := c.waitToRetry(ctx, attempt, err); final != nil {
			if unsettled && !IsAmbiguous(final) {
				final = &unsettledError{err: final}
			}
			return nil, final
		}
		unsettled = unsettled || (r.method != http.MethodGet && IsAmbiguous(err))
	}
}

func (c *Client) attempt(ctx context.Context, r request, attempt int, answer any) (http.Header, error) {
	req, err := c.httpRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &transportError{err: err}
	}
	defer func() { _ = resp.Body.Close() }()

	if c.hook != nil {
		c.hook(ctx, newResponse(resp, r.method, req.URL.EscapedPath(), attempt))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.maxAnswer+1))
	success := resp.StatusCode >= 200 && resp.StatusCode <= 299
	if err != nil && (success || ctx.Err() != nil) { // of a failure, the status alone is worth reporting
		return nil, &transportError{err: fmt.Errorf("%s %s: read the answer: %w", r.method, req.URL.EscapedPath(), err)}
	}
	received := received{request: req, response: resp, body: body, at: c.now()}
	switch {
	case !success:
		return nil, received.failure()
	case int64(len(body)) > c.maxAnswer:
		return nil, received.unexpected(fmt.Sprintf("the answer is longer than %d bytes", c.maxAnswer))
	case answer == nil:
		return resp.Header, nil
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return nil, received.unexpected(fmt.Sprintf("the answer cannot be decoded: %v", err))
	}
	if checked, ok := answer.(checkedAnswer); ok {
		if name := checked.missing(); name != "" {
			return nil, received.unexpected(fmt.Sprintf("the answer has no %s", name))
		}
	}
	return resp.Header, nil
}

func (c *Client) httpRequest(ctx context.Context, r request) (*http.Request, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + url.Values(r.query).Encode()
	}
	stream := r.stream
	if r.body != nil {
		stream = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, stream)
	if err != nil {
		return nil, fmt.Errorf("assay: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Accept", contentTypeJSON)
	req.Header.Set("User-Agent", c.userAgent)
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// collection is where the items of a kind are, and what an identifier of one is called.
type collection struct{ path, identifier string }

var (
	orders       = collection{"/orders/", "order identifier"}
	webhooks     = collection{"/webhooks/", "webhook id"}
	captureLinks = collection{"/capture_links/", "capture link id"}
)

// item returns the path of an item. Its identifier is escaped, also a dot segment: otherwise "." and ".." would be
// taken as steps in the path, by servers and by anything between.
func (k collection) item(id string) (string, error) {
	switch id {
	case "":
		return "", errors.New("assay: the " + k.identifier + " is empty")
	case ".", "..":
		return k.path + strings.ReplaceAll(id, ".", "%2E"), nil
	}
	return k.path + url.PathEscape(id), nil
}

// params is a query string in the making. Zero values are left out.
type params url.Values

// textParams returns parameters from names and values by turns. Empty values are not sent.
func textParams(namesAndValues ...string) params {
	p := params{}
	for pair := range slices.Chunk(namesAndValues, 2) {
		if name, value := pair[0], pair[1]; value != "" {
			p[name] = []string{value}
		}
	}
	return p
}

// page adds the parameters of a page. Zero is not sent.
func (p params) page(page, limit int) params {
	if page != 0 {
		p["page"] = []string{strconv.Itoa(page)}
	}
	if limit != 0 {
		p["limit"] = []string{strconv.Itoa(limit)}
	}
	return p
}
