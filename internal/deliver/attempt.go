package deliver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/assayhq/assay/internal/buildinfo"
	"github.com/assayhq/assay/internal/domain/webhook"
	"github.com/assayhq/assay/internal/secret"
	"github.com/assayhq/assay/internal/store"
)

// maxDrain is how much of an answer is read beyond what is kept, so that the connection can be used again.
const maxDrain = 64 << 10

// courier makes attempts.
type courier struct {
	client  *http.Client
	tokens  *tokens
	secrets *secret.Box
	timeout time.Duration // of a whole attempt, the token included
	now     func() time.Time
}

// attempt makes one attempt and tells how it went; cause is for the log. The error says that none was made: the
// endpoint's secret cannot be read, or ctx was canceled.
func (c *courier) attempt(ctx context.Context, e *webhook.Endpoint, d *store.QueuedDelivery) (a webhook.Attempt, cause, err error) {
	opened, err := c.secrets.Open(e.SealedSecret, e.ID)
	if err != nil {
		return a, nil, fmt.Errorf("read the secret of the endpoint: %w", err)
	}
	a = webhook.Attempt{DeliveryID: d.ID, At: c.now()}
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	cause = c.exchange(limited, e, d, opened, &a)
	a.Duration = c.now().Sub(a.At)
	if ctx.Err() != nil && a.HTTPStatus == 0 {
		return a, cause, context.Cause(ctx)
	}
	return a, cause, nil
}

// exchange sends the delivery and puts the answer, or the failure, into the attempt.
func (c *courier) exchange(ctx context.Context, e *webhook.Endpoint, d *store.QueuedDelivery, key string, a *webhook.Attempt) error {
	token := ""
	if e.OAuth != nil {
		var err error
		if token, err = c.tokens.get(ctx, e, key); err != nil {
			a.Failure = webhook.FailureToken
			if refused, ok := errors.AsType[*tokenError](err); ok {
				a.Answer = webhook.Excerpt(refused.answer)
			}
			return err
		}
	}
	var handshake atomic.Pointer[error]
	request, err := c.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err != nil {
				handshake.Store(&err)
			}
		},
	}), e, d, key, token)
	if err != nil {
		a.Failure = webhook.FailureConnection
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		var failed error
		if p := handshake.Load(); p != nil {
			failed = *p
		}
		a.Failure = failureOf(err, failed)
		return err
	}
	defer func() { _ = response.Body.Close() }()
	a.HTTPStatus = response.StatusCode
	if response.StatusCode == http.StatusUnauthorized && token != "" {
		c.tokens.drop(e.ID, token)
	}
	// The status is the acknowledgement; a body that breaks off or never ends does not take it back.
	answer, _ := io.ReadAll(io.LimitReader(response.Body, webhook.MaxAnswer))
	a.Answer = webhook.Excerpt(answer)
	_, _ = io.CopyN(io.Discard, response.Body, maxDrain)
	return nil
}

// request makes the request of an attempt: with the token or, without one, signed. The headers are set in just the
// spelling of the interface; HTTP/1.1 shows it.
func (c *courier) request(ctx context.Context, e *webhook.Endpoint, d *store.QueuedDelivery, key, token string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(d.Body))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{
		"Content-Type":     {"application/json"},
		"User-Agent":       {userAgent},
		"X-LG-Event":       {string(d.Event)},
		"X-LG-Delivery-Id": {d.ID},
	}
	if token != "" {
		request.Header["Authorization"] = []string{"Bearer " + token}
		return request, nil
	}
	timestamp := c.now().Unix()
	request.Header["X-LG-Timestamp"] = []string{strconv.FormatInt(timestamp, 10)}
	request.Header["X-LG-Signature"] = []string{webhook.Sign(key, timestamp, d.Body)}
	return request, nil
}

var userAgent = "Assay-Webhooks/" + buildinfo.Version

// named sends the program's name with requests that have none of their own: those for tokens.
type named struct{ next http.RoundTripper }

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", userAgent)
	}
	return n.next.RoundTrip(r)
}
