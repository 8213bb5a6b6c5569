package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// RetryPolicy says how often and after which waits a failed request is repeated. Zero fields take the values of
// [DefaultRetryPolicy].
//
// Only these requests are repeated: reads, [Client.GetQuote], and [Client.CreateOrder] with an idempotency key. They
// are repeated after 429, 5xx and transport failures, never after another answer. (An order creation is also repeated
// after 409 request-in-progress, which says that an earlier attempt is still running.)
type RetryPolicy struct {
	// MaxAttempts is the number of attempts in all, the first one included. 1 means no retry.
	MaxAttempts int

	// BaseDelay is the backoff after the first failure. It doubles with each further one. Half of each backoff is
	// random, so that clients that failed together do not return together.
	BaseDelay time.Duration

	// MaxDelay caps the backoff.
	MaxDelay time.Duration

	// MaxRetryAfter is the longest Retry-After that is waited for. When the service asks for more, the error is
	// returned at once, and [Error.RetryAfter] tells the wait. A Retry-After is never cut short.
	MaxRetryAfter time.Duration
}

// DefaultRetryPolicy returns the policy of a client without [WithRetry]: four attempts, backoff from 500 ms to 10 s,
// Retry-After up to 90 s, which is more than the service's rate-limit window.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:   4,
		BaseDelay:     500 * time.Millisecond,
		MaxDelay:      10 * time.Second,
		MaxRetryAfter: 90 * time.Second,
	}
}

// WithRetry sets the retry policy.
func WithRetry(policy RetryPolicy) Option {
	return func(c *Client) error {
		if policy.MaxAttempts < 0 || policy.BaseDelay < 0 || policy.MaxDelay < 0 || policy.MaxRetryAfter < 0 {
			return errors.New("assay: WithRetry: no field may be negative")
		}
		defaults := DefaultRetryPolicy()
		if policy.MaxAttempts == 0 {
			policy.MaxAttempts = defaults.MaxAttempts
		}
		if policy.BaseDelay == 0 {
			policy.BaseDelay = defaults.BaseDelay
		}
		if policy.MaxDelay == 0 {
			policy.MaxDelay = max(defaults.MaxDelay, policy.BaseDelay)
		}
		if policy.MaxRetryAfter == 0 {
			policy.MaxRetryAfter = defaults.MaxRetryAfter
		}
		c.retry = policy
		return nil
	}
}

// WithoutRetry sends every request once.
func WithoutRetry() Option { return WithRetry(RetryPolicy{MaxAttempts: 1}) }

// backoff returns the wait after the given attempt (1 for the first), with r in [0, 1) as its random part.
func (p RetryPolicy) backoff(attempt int, r float64) time.Duration {
	delay := p.BaseDelay
	for i := 1; i < attempt && delay < p.MaxDelay; i++ {
		delay *= 2
	}
	delay = min(delay, p.MaxDelay)
	return delay/2 + time.Duration(r*float64(delay/2))
}

// waitToRetry waits before the attempt after the given one. It returns the error to hand to the caller when there is
// to be no further attempt, and nil otherwise.
func (c *Client) waitToRetry(ctx context.Context, attempt int, failure error) error {
	if attempt >= c.retry.MaxAttempts || ctx.Err() != nil || !worthRepeating(failure) {
		return failure
	}
	delay := c.retry.backoff(attempt, c.random())
	var answer *Error
	if errors.As(failure, &answer) {
		if answer.RetryAfter > c.retry.MaxRetryAfter {
			return failure
		}
		delay = max(delay, answer.RetryAfter)
	}
	if deadline, ok := ctx.Deadline(); ok && c.now().Add(delay).After(deadline) {
		return failure // the caller learns more from the failure now than from a timeout later
	}
	if err := c.sleep(ctx, delay); err != nil {
		return fmt.Errorf("%w (gave up waiting to repeat it: %w)", failure, err)
	}
	return nil
}

// worthRepeating reports whether the same request may succeed later.
func worthRepeating(failure error) bool {
	var answer *Error
	if errors.As(failure, &answer) {
		return answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500 ||
			answer.Code == CodeRequestInProgress
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(failure, &certificate) {
		return false
	}
	var transport *transportError
	return errors.As(failure, &transport)
}

// retryAfter reads a Retry-After header, which holds seconds or a date. It is 0 when there is none.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	seconds, err := strconv.ParseInt(value, 10, 32)
	if err == nil || errors.Is(err, strconv.ErrRange) { // out of range, seconds is the nearest value
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func random() float64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}
