package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultUserAgent      = "assay-go-client/1"
	defaultMaxAnswerBytes = 16 << 20

	// answerHeaderTimeout limits the wait for an answer once the request is sent, so that a dead peer is noticed
	// even without a deadline in the context. It does not limit the time that an upload takes.
	answerHeaderTimeout = 60 * time.Second
)

// Client calls the integration API with one API key. It is safe for concurrent use.
type Client struct {
	base      string // without trailing slash
	key       string
	http      *http.Client
	userAgent string
	retry     RetryPolicy
	maxAnswer int64
	hook      func(context.Context, Response)
	now       func() time.Time
	sleep     func(context.Context, time.Duration) error
	random    func() float64 // in [0, 1)
}

// Option changes a setting of a [Client].
type Option func(*Client) error

// New returns a client for the service at baseURL, which includes the prefix /v1/integrations. A trailing slash is
// allowed; credentials, a query or a fragment are not. No request is made.
func New(baseURL, apiKey string, opts ...Option) (*Client, error) {
	base, err := parseBaseURL(baseURL)
	if err != nil {
		return nil, err
	}
	if apiKey == "" {
		return nil, errors.New("assay: the API key is empty")
	}
	if !validHeaderValue(apiKey) || strings.Contains(apiKey, " ") {
		return nil, errors.New("assay: the API key has characters that no key has")
	}
	c := &Client{
		base:      base,
		key:       apiKey,
		userAgent: defaultUserAgent,
		retry:     DefaultRetryPolicy(),
		maxAnswer: defaultMaxAnswerBytes,
		now:       time.Now,
		sleep:     sleep,
		random:    random,
	}
	for _, opt := range opts {
		if err := opt(c); err != nil {
			return nil, err
		}
	}
	if c.http == nil {
		c.http = &http.Client{Transport: DefaultTransport()}
	}
	if c.http.CheckRedirect == nil {
		// A redirected POST would silently become a GET, and its answer would be taken for that of the POST.
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c, nil
}

// String returns the base URL, never the API key.
func (c *Client) String() string { return "assay client for " + c.base }

// GoString keeps the API key out of %#v as well.
func (c *Client) GoString() string { return c.String() }

// WithHTTPClient uses hc for all requests, for example to set a proxy, extra certificate authorities or a timeout for
// each attempt. The client keeps a copy; a nil CheckRedirect in it is replaced by one that follows no redirect.
func WithHTTPClient(hc *http.Client) Option {
	return func(c *Client) error {
		if hc == nil {
			return errors.New("assay: WithHTTPClient: the client is nil")
		}
		copied := *hc
		c.http = &copied
		return nil
	}
}

// WithUserAgent sets the User-Agent header, which the service keeps with audit events.
func WithUserAgent(userAgent string) Option {
	return func(c *Client) error {
		if userAgent == "" || !validHeaderValue(userAgent) {
			return errors.New("assay: WithUserAgent: the value is not a valid header value")
		}
		c.userAgent = userAgent
		return nil
	}
}

// WithMaxAnswerBytes sets how much of an answer's body is read: 16 MiB by default. A longer answer is an error that
// wraps [ErrUnexpectedAnswer].
func WithMaxAnswerBytes(n int64) Option {
	return func(c *Client) error {
		if n < 1 {
			return errors.New("assay: WithMaxAnswerBytes: the limit must be at least 1")
		}
		c.maxAnswer = min(n, math.MaxInt64-1) // one byte more is read to notice a longer answer
		return nil
	}
}

// WithResponseHook calls hook for every answer of every attempt, successful or not, before its body is read. It is the
// place for metrics and for watching the rate limit. The hook gets the context of the call and must be safe for
// concurrent use.
func WithResponseHook(hook func(context.Context, Response)) Option {
	return func(c *Client) error {
		c.hook = hook
		return nil
	}
}

// WithClock replaces time.Now, which is used to read a Retry-After date and to see that a wait would outlast the
// context's deadline. It is meant for tests.
func WithClock(now func() time.Time) Option {
	return func(c *Client) error {
		if now == nil {
			return errors.New("assay: WithClock: the function is nil")
		}
		c.now = now
		return nil
	}
}

// WithSleep replaces the waiting between retries and between the polls of [Client.WaitForOrder]. The function must
// return the context's error once the context is done. It is meant for tests.
func WithSleep(sleep func(context.Context, time.Duration) error) Option {
	return func(c *Client) error {
		if sleep == nil {
			return errors.New("assay: WithSleep: the function is nil")
		}
		c.sleep = sleep
		return nil
	}
}

func parseBaseURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("assay: the base URL is not a URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("assay: the base URL must start with https:// or http://, not %q", u.Scheme)
	case u.Host == "":
		return "", errors.New("assay: the base URL has no host")
	case u.User != nil:
		return "", errors.New("assay: the base URL must not hold credentials")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("assay: the base URL must not have a query or a fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// DefaultTransport returns a transport such as a client without [WithHTTPClient] has, for a program that wraps it: that
// of net/http, which waits at most 60 seconds for an answer once the request is sent.
func DefaultTransport() http.RoundTripper {
	shared, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // replaced by the program: its choice
	}
	own := shared.Clone()
	own.ResponseHeaderTimeout = answerHeaderTimeout
	return own
}

// validHeaderValue reports whether v can stand in a header: visible characters and inner spaces.
func validHeaderValue(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] == 0x7f {
			return false
		}
	}
	return strings.TrimSpace(v) == v
}
