package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/assayhq/assay/internal/buildinfo"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
	"github.com/assayhq/assay/internal/tracing"
)

// maxDrain is how much of a response is read beyond what is stored, so that the connection can be reused.
const maxDrain = 64 << 10

// httpSender makes HTTP delivery attempts.
type httpSender struct {
	// transport is used without an http.Client, which would follow redirects.
	transport http.RoundTripper
	tokens    *tokens
	secrets   *secret.Box
	timeout   time.Duration // of an attempt, once there is an access token
	now       func() time.Time
}

// target is an endpoint prepared for attempts.
type target struct {
	*webhook.Endpoint
	post     *http.Request // what all attempts have in common
	secret   string        // of the OAuth2 client
	signer   *webhook.Signer
	previous *webhook.Signer // before the last rotation; nil: none
}

// openTarget decrypts the secret of an endpoint and parses its URL.
func (c *httpSender) openTarget(e *webhook.Endpoint) (*target, error) {
	opened, err := c.secrets.Open(e.SealedSecret, e.ID)
	if err != nil {
		return nil, fmt.Errorf("read the secret of the endpoint: %w", err)
	}
	t := &target{Endpoint: e, secret: opened, signer: webhook.NewSigner(opened)}
	if e.Rotation != nil && e.Rotation.Overlaps(c.now()) {
		previous, err := c.secrets.Open(e.Rotation.SealedPrevious, e.ID)
		if err != nil {
			return nil, fmt.Errorf("read the previous secret of the endpoint: %w", err)
		}
		t.previous = webhook.NewSigner(previous)
	}
	to, err := url.Parse(e.URL)
	t.post = &http.Request{Method: http.MethodPost, URL: to}
	return t, err
}

// signatures returns the headers of a signed attempt.
func (t *target) signatures(at time.Time, body []byte) []webhook.Header {
	headers := webhook.SignatureHeaders(t.signer, at, body)
	if t.previous != nil && at.Before(t.Rotation.PreviousUntil) {
		headers = append(headers, webhook.PreviousSignatureHeader(t.previous, at, body))
	}
	return headers
}

// attempt makes an attempt. cause is the reason of a failure, for the log. err is set only if ctx was canceled.
func (c *httpSender) attempt(
	ctx context.Context, t *target, d *store.QueuedDelivery,
) (a webhook.Attempt, cause, err error) {
	a = webhook.Attempt{DeliveryID: d.ID, Number: d.Attempts + 1, At: c.now()}
	traced, span := tracing.Attempt(ctx, d.Trace, d.ID, string(d.Event), a.Number)
	cause = c.exchange(traced, t, d, &a)
	a.Duration = c.now().Sub(a.At)
	tracing.EndAttempt(span, a.HTTPStatus, string(a.Failure), cause)
	if ctx.Err() != nil && a.HTTPStatus == 0 {
		return a, cause, context.Cause(ctx)
	}
	return a, cause, nil
}

// exchange sends the delivery and stores the response, or the failure, in a. The time limit of the receiver begins when
// there is a token: what the token URL takes is not the receiver's.
func (c *httpSender) exchange(ctx context.Context, t *target, d *store.QueuedDelivery, a *webhook.Attempt) error {
	token := ""
	if t.OAuth != nil {
		var err error
		if token, err = c.tokens.get(ctx, t.Endpoint, t.secret); err != nil {
			a.Failure = webhook.FailureToken
			if refused, ok := errors.AsType[*tokenError](err); ok {
				a.Answer = webhook.Excerpt([]byte(refused.answer))
			}
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := c.transport.RoundTrip(c.request(ctx, t, d, a.At, token))
	if err != nil {
		a.Failure = failureOf(err)
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if a.HTTPStatus = response.StatusCode; !a.Acknowledged() {
		a.Headers = webhook.HeaderExcerpt(response.Header)
	}
	if response.StatusCode == http.StatusUnauthorized && token != "" {
		c.tokens.drop(t.ID, token)
	}
	if response.ContentLength == 0 {
		return nil
	}
	// The status acknowledges the delivery, whether or not the body can be read.
	answer, _ := io.ReadAll(io.LimitReader(response.Body, webhook.MaxAnswer))
	a.Answer = webhook.Excerpt(answer)
	_, _ = io.CopyN(io.Discard, response.Body, maxDrain)
	return nil
}

// request builds the request of an attempt, with the token or else signed. The timestamp of the signature is that
// of the attempt, so that the log of attempts shows what was signed. Header names are spelled as documented, which
// HTTP/1.1 preserves.
func (c *httpSender) request(
	ctx context.Context, t *target, d *store.QueuedDelivery, at time.Time, token string,
) *http.Request {
	proof := webhook.TokenHeaders(token)
	if token == "" {
		proof = t.signatures(at, d.Body)
	}
	headers := append(webhook.Headers(d.Event, d.ID), proof...)
	headers = append(headers, webhook.Header{Name: "User-Agent", Value: userAgent})
	header := make(http.Header, len(headers)+1) // and a trace
	values := make([]string, len(headers))
	for i, h := range headers {
		values[i] = h.Value
		header[h.Name] = values[i : i+1 : i+1]
	}
	tracing.Inject(ctx, header)
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(d.Body)), nil }
	r := t.post.WithContext(ctx) // a copy
	r.Header, r.GetBody, r.ContentLength = header, body, int64(len(d.Body))
	r.Close = d.Failures > 0 // on a connection of its own: the one before may have been closed while it was sent
	r.Body, _ = body()
	return r
}

var userAgent = "Assay-Webhooks/" + buildinfo.Version
