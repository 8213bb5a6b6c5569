package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

// retryAfter answers with a status, a body and the header of that name.
func retryAfter(status int, body, value string) http.HandlerFunc {
	return answerWith(status, body, map[string]string{"Retry-After": value})
}

func seconds(n int) []time.Duration { return []time.Duration{time.Duration(n) * time.Second} }

func TestRetryOfReads(t *testing.T) {
	ok := answer(200, `{"availableCredits":7}`)
	const limited = `{"code":"rate-limit-exceeded"}`
	for _, tt := range []struct {
		name   string
		policy client.RetryPolicy
		script []http.HandlerFunc
		waits  []time.Duration
		code   client.Code // of the error in the end; empty for success
	}{
		{
			name:   "Unavailable",
			script: []http.HandlerFunc{answer(503, `{"code":"service-unavailable"}`), ok},
			waits:  []time.Duration{250 * time.Millisecond},
		},
		{
			name:   "ProxyError",
			script: []http.HandlerFunc{answer(502, `<html>`), answer(504, ``), ok},
			waits:  []time.Duration{250 * time.Millisecond, 500 * time.Millisecond},
		},
		{name: "HangUp", script: []http.HandlerFunc{hangUp, ok}, waits: []time.Duration{250 * time.Millisecond}},
		{name: "CutOff", script: []http.HandlerFunc{cutOff, ok}, waits: []time.Duration{250 * time.Millisecond}},
		{name: "RateLimited", script: []http.HandlerFunc{retryAfter(429, limited, "17"), ok}, waits: seconds(17)},
		{
			name: "RetryAfterInDetails",
			script: []http.HandlerFunc{
				answer(429, `{"code":"rate-limit-exceeded","details":{"retry_after_seconds":9}}`), ok,
			},
			waits: seconds(9),
		},
		{
			name:   "RetryAfterOfServerError",
			script: []http.HandlerFunc{retryAfter(503, `{"code":"service-unavailable"}`, "5"), ok}, waits: seconds(5),
		},
		{
			name:   "RetryAfterDate",
			script: []http.HandlerFunc{retryAfter(503, ``, "Sun, 01 Mar 2026 10:00:30 GMT"), ok}, waits: seconds(30),
		},
		{
			name: "RetryAfterShorterThanBackoff",
			script: []http.HandlerFunc{
				retryAfter(503, ``, "0"), retryAfter(503, ``, "Sun, 01 Mar 2020 10:00:30 GMT"), retryAfter(503, ``, "-3"), ok,
			},
			waits: []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second},
		},
		{
			name: "RetryAfterTooLong", script: []http.HandlerFunc{retryAfter(429, limited, "91")},
			code: client.CodeRateLimitExceeded,
		},
		{
			name: "RetryAfterOutOfRange", script: []http.HandlerFunc{retryAfter(429, limited, "99999999999999999999")},
			code: client.CodeRateLimitExceeded,
		},
		{
			name:   "AttemptsUsedUp",
			script: slices.Repeat([]http.HandlerFunc{answer(500, `{"code":"internal-error"}`)}, 4),
			waits:  []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second},
			code:   client.CodeInternalError,
		},
		{
			name:   "CappedBackoff",
			policy: client.RetryPolicy{MaxAttempts: 5, BaseDelay: 2 * time.Second, MaxDelay: 6 * time.Second},
			script: slices.Repeat([]http.HandlerFunc{answer(500, `{"code":"internal-error"}`)}, 5),
			waits:  []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second},
			code:   client.CodeInternalError,
		},
		{
			name:   "LongBaseDelayAlone",
			policy: client.RetryPolicy{BaseDelay: time.Minute, MaxAttempts: 2},
			script: []http.HandlerFunc{answer(500, ``), ok},
			waits:  []time.Duration{30 * time.Second},
		},
		{
			name:   "Off",
			policy: client.RetryPolicy{MaxAttempts: 1},
			script: []http.HandlerFunc{answer(500, `{"code":"internal-error"}`)},
			code:   client.CodeInternalError,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t, tt.script...)
			c := s.client(client.WithRetry(tt.policy), client.WithClock(func() time.Time {
				return time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
			}))
			_, err := c.GetBalance(t.Context())
			if tt.code == "" {
				noError(t, err)
			} else if !client.IsCode(err, tt.code) {
				t.Errorf("got %v, want %s", err, tt.code)
			}
			equal(t, "waits", s.slept, tt.waits)
			equal(t, "requests", len(s.requests()), len(tt.script))
		})
	}
}

func TestRefusalsAreNotRetried(t *testing.T) {
	for _, status := range []int{400, 401, 402, 403, 404, 409, 413, 418} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			s := newService(t, answerWith(status, `{"code":"some-code"}`, map[string]string{"Retry-After": "1"}))
			_, err := s.client().GetBalance(t.Context())
			equal(t, "is some-code", client.IsCode(err, "some-code"), true)
			equal(t, "requests", len(s.requests()), 1)
		})
	}
}

func TestMalformedSuccessIsNotRetried(t *testing.T) {
	s := newService(t, answer(200, `<html>`))
	_, err := s.client().GetBalance(t.Context())
	equal(t, "is unexpected", errors.Is(err, client.ErrUnexpectedAnswer), true)
	equal(t, "requests", len(s.requests()), 1)
}

func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		random float64
		want   time.Duration
	}{{0, 4 * time.Second}, {0.5, 6 * time.Second}, {0.999999, 7999996 * time.Microsecond}} {
		s := newService(t, answer(503, ``), answer(200, `{"availableCredits":7}`))
		c := s.client(client.WithRandom(func() float64 { return tt.random }),
			client.WithRetry(client.RetryPolicy{BaseDelay: 8 * time.Second}))
		_, err := c.GetBalance(t.Context())
		noError(t, err)
		equal(t, "wait", s.slept, []time.Duration{tt.want})
	}
	t.Run("Default", func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 5 {
			s := newService(t, answer(503, ``), answer(200, `{"availableCredits":7}`))
			c, err := client.New(s.url, testKey, client.WithSleep(s.sleep))
			noError(t, err)
			_, err = c.GetBalance(t.Context())
			noError(t, err)
			if d := s.slept[0]; d < 250*time.Millisecond || d >= 500*time.Millisecond {
				t.Errorf("wait %s is out of bounds", d)
			}
			seen[s.slept[0]] = true
		}
		if len(seen) < 2 {
			t.Error("the waits are not random")
		}
	})
}

func TestRetryAndContext(t *testing.T) {
	t.Run("CancelledWhileWaiting", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newService(t, answer(503, `{"code":"service-unavailable"}`))
		c := s.client(client.WithSleep(func(ctx context.Context, _ time.Duration) error {
			cancel()
			return ctx.Err()
		}))
		_, err := c.GetBalance(ctx)
		equal(t, "is cancelled", errors.Is(err, context.Canceled), true)
		equal(t, "tells why it waited", client.IsCode(err, client.CodeServiceUnavailable), true)
	})
	t.Run("DeadlineBeforeTheWaitEnds", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		s := newService(t, answerWith(429, `{"code":"rate-limit-exceeded"}`, map[string]string{"Retry-After": "60"}))
		_, err := s.client().GetBalance(ctx)
		equal(t, "is rate-limited", client.IsCode(err, client.CodeRateLimitExceeded), true)
		equal(t, "waits", s.slept, []time.Duration(nil))
	})
	t.Run("CancelledBefore", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := newService(t)
		_, err := s.client().GetBalance(ctx)
		equal(t, "is cancelled", errors.Is(err, context.Canceled), true)
		equal(t, "waits", s.slept, []time.Duration(nil))
	})
	t.Run("RealSleepEndsWithTheContext", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newService(t, func(w http.ResponseWriter, r *http.Request) {
			answer(503, `{"code":"service-unavailable"}`)(w, r)
		})
		c, err := client.New(s.url, testKey, client.WithRetry(client.RetryPolicy{BaseDelay: time.Hour}),
			client.WithResponseHook(func(context.Context, client.Response) { time.AfterFunc(10*time.Millisecond, cancel) }))
		noError(t, err)
		_, err = c.GetBalance(ctx)
		equal(t, "is cancelled", errors.Is(err, context.Canceled), true)
	})
	t.Run("RealSleepEnds", func(t *testing.T) {
		s := newService(t, answer(503, ``), answer(200, `{"availableCredits":7}`))
		c, err := client.New(s.url, testKey, client.WithRetry(client.RetryPolicy{BaseDelay: time.Millisecond}))
		noError(t, err)
		_, err = c.GetBalance(t.Context())
		noError(t, err)
	})
}

func TestWritesAreSentOnce(t *testing.T) {
	for name, call := range map[string]func(context.Context, *client.Client) error{
		"CreateOrder": func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateOrder(ctx, client.CreateOrder{})
			return err
		},
		"SubmitUpdatePhotos": func(ctx context.Context, c *client.Client) error {
			_, err := c.SubmitUpdatePhotos(ctx, "o1", client.UpdatePhotos{})
			return err
		},
		"CreateWebhook": func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateWebhook(ctx, client.CreateWebhook{})
			return err
		},
		"DeleteWebhook": func(ctx context.Context, c *client.Client) error { return c.DeleteWebhook(ctx, "w1") },
	} {
		for failure, handler := range map[string]http.HandlerFunc{
			"Unavailable": answerWith(503, `{"code":"service-unavailable"}`, map[string]string{"Retry-After": "1"}),
			"HangUp":      hangUp,
		} {
			t.Run(name+"/"+failure, func(t *testing.T) {
				s := newService(t, handler)
				err := call(t.Context(), s.client())
				equal(t, "ambiguous", client.IsAmbiguous(err), true)
				equal(t, "requests", len(s.requests()), 1)
			})
		}
	}
}

func TestCreateOrderWithIdempotencyKeyIsRepeated(t *testing.T) {
	s := newService(t,
		hangUp,
		answerWith(429, `{"code":"rate-limit-exceeded"}`, map[string]string{"Retry-After": "3"}),
		answer(409, `{"code":"request-in-progress"}`),
		answerWith(201, createdOrder, map[string]string{"Idempotency-Replayed": "true"}),
	)
	order := client.CreateOrder{BrandCode: "b", CategoryCode: "c", ExternalID: "<&>"}
	got, err := s.client().CreateOrder(t.Context(), order, client.WithIdempotencyKey("k1"))
	noError(t, err)
	equal(t, "replayed", got.Replayed, true)
	equal(t, "waits", s.slept, []time.Duration{250 * time.Millisecond, 3 * time.Second, time.Second})
	for _, r := range s.requests() {
		equal(t, "key", r.Header.Get("Idempotency-Key"), "k1")
		equal(t, "body", r.Body, s.requests()[0].Body)
	}
}

func TestCreateOrderWithIdempotencyKeyRefused(t *testing.T) {
	s := newService(t, answer(402, `{"code":"not-enough-credits"}`))
	_, err := s.client().CreateOrder(t.Context(), client.CreateOrder{}, client.WithIdempotencyKey("k1"))
	equal(t, "is not-enough-credits", client.IsCode(err, client.CodeNotEnoughCredits), true)
	equal(t, "ambiguous", client.IsAmbiguous(err), false)
}

func TestIsAmbiguous(t *testing.T) {
	create := func(t *testing.T, opts []client.CreateOrderOption, script ...http.HandlerFunc) error {
		t.Helper()
		_, err := newService(t, script...).client().CreateOrder(t.Context(), client.CreateOrder{}, opts...)
		if err == nil {
			t.Fatal("no error")
		}
		return err
	}
	withKey := []client.CreateOrderOption{client.WithIdempotencyKey("k1")}
	for _, tt := range []struct {
		name   string
		script []http.HandlerFunc
		opts   []client.CreateOrderOption
		want   bool
	}{
		{"Refused", []http.HandlerFunc{answer(400, `{"code":"bad-request"}`)}, nil, false},
		{"RateLimited", []http.HandlerFunc{answer(429, `{"code":"rate-limit-exceeded"}`)}, nil, false},
		{"Redirected", []http.HandlerFunc{answer(302, ``)}, nil, false},
		{"ServerError", []http.HandlerFunc{answer(500, `{"code":"internal-error"}`)}, nil, true},
		{"GatewayTimeout", []http.HandlerFunc{answer(504, `<html>`)}, nil, true},
		{"RequestTimeout", []http.HandlerFunc{answer(408, ``)}, nil, true},
		{"InProgress", []http.HandlerFunc{answer(409, `{"code":"request-in-progress"}`)}, nil, true},
		{"MalformedSuccess", []http.HandlerFunc{answer(201, `<html>`)}, nil, true},
		{"CutOff", []http.HandlerFunc{cutOff}, nil, true},
		{"EarlierAttempt", []http.HandlerFunc{hangUp, answer(403, `{"code":"forbidden"}`)}, withKey, true},
		{"NoEarlierDoubt", []http.HandlerFunc{answer(429, `{}`), answer(403, `{"code":"forbidden"}`)}, withKey, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "ambiguous", client.IsAmbiguous(create(t, tt.opts, tt.script...)), tt.want)
		})
	}
	t.Run("EarlierAttemptKeepsTheCode", func(t *testing.T) {
		err := create(t, withKey, hangUp, answer(403, `{"code":"forbidden"}`))
		equal(t, "is forbidden", client.IsCode(err, client.CodeForbidden), true)
		equal(t, "says so", strings.Contains(err.Error(), "earlier attempt"), true)
	})
	t.Run("Nil", func(t *testing.T) { equal(t, "ambiguous", client.IsAmbiguous(nil), false) })
	t.Run("NothingListens", func(t *testing.T) {
		c, err := client.New("http://127.0.0.1:1", testKey)
		noError(t, err)
		_, err = c.CreateOrder(t.Context(), client.CreateOrder{})
		if err == nil || client.IsAmbiguous(err) {
			t.Errorf("got %v", err)
		}
	})
}
