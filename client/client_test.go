package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		name, url, key string
		opts           []client.Option
		want           string // part of the error; empty for success
	}{
		{name: "HTTPS", url: "https://assay.example/v1/integrations", key: "k"},
		{name: "TrailingSlash", url: "http://localhost:8080/v1/integrations/", key: "k"},
		{name: "NoScheme", url: "assay.example/v1/integrations", key: "k", want: "https://"},
		{name: "OtherScheme", url: "ftp://assay.example/", key: "k", want: "https://"},
		{name: "NoHost", url: "https:///v1/integrations", key: "k", want: "no host"},
		{name: "NotAURL", url: "http://[::1", key: "k", want: "not a URL"},
		{name: "Credentials", url: "https://u:p@assay.example/", key: "k", want: "credentials"},
		{name: "Query", url: "https://assay.example/?a=b", key: "k", want: "query"},
		{name: "Fragment", url: "https://assay.example/#a", key: "k", want: "fragment"},
		{name: "EmptyKey", url: "https://assay.example", want: "empty"},
		{name: "KeyWithNewline", url: "https://assay.example", key: "k\n", want: "characters"},
		{name: "KeyWithSpace", url: "https://assay.example", key: "k k", want: "characters"},
		{
			name: "NilHTTPClient",
			url:  "https://assay.example",
			key:  "k",
			opts: []client.Option{client.WithHTTPClient(nil)},
			want: "nil",
		},
		{
			name: "EmptyUserAgent",
			url:  "https://assay.example",
			key:  "k",
			opts: []client.Option{client.WithUserAgent("")},
			want: "header",
		},
		{
			name: "UserAgentWithNewline",
			url:  "https://assay.example",
			key:  "k",
			opts: []client.Option{client.WithUserAgent("a\r\nb")},
			want: "header",
		},
		{
			name: "NegativeRetry",
			url:  "https://assay.example",
			key:  "k",
			opts: []client.Option{client.WithRetry(client.RetryPolicy{MaxAttempts: -1})},
			want: "negative",
		},
		{
			name: "NoAnswerBytes",
			url:  "https://assay.example",
			key:  "k",
			opts: []client.Option{client.WithMaxAnswerBytes(0)},
			want: "at least 1",
		},
		{name: "NilClock", url: "https://assay.example", key: "k", opts: []client.Option{client.WithClock(nil)}, want: "nil"},
		{name: "NilSleep", url: "https://assay.example", key: "k", opts: []client.Option{client.WithSleep(nil)}, want: "nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := client.New(tt.url, tt.key, tt.opts...)
			if tt.want == "" {
				noError(t, err)
				return
			}
			if err == nil || c != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want an error with %q", c, err, tt.want)
			}
		})
	}
}

func TestClientHidesItsKey(t *testing.T) {
	c, err := client.New("https://assay.example/v1/integrations", testKey)
	noError(t, err)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, c); strings.Contains(text, testKey) || !strings.Contains(text, "assay.example") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

func TestRequestHeaders(t *testing.T) {
	t.Run("Read", func(t *testing.T) {
		s := newService(t, answer(200, `{"availableCredits":7}`))
		_, err := s.client(client.WithUserAgent("shop/2.1")).GetBalance(t.Context())
		noError(t, err)
		r := s.only()
		equal(t, "Authorization", r.Header.Get("Authorization"), "Bearer "+testKey)
		equal(t, "Accept", r.Header.Get("Accept"), "application/json")
		equal(t, "User-Agent", r.Header.Get("User-Agent"), "shop/2.1")
		equal(t, "Content-Type", r.Header.Values("Content-Type"), []string(nil))
	})
	t.Run("Write", func(t *testing.T) {
		s := newService(t, answer(202, `{"id":"o1","status":"accepted"}`))
		_, err := s.client().SubmitUpdatePhotos(t.Context(), "o1", client.UpdatePhotos{})
		noError(t, err)
		r := s.only()
		equal(t, "Content-Type", r.Header.Get("Content-Type"), "application/json")
		equal(t, "User-Agent", r.Header.Get("User-Agent"), "assay-go-client/1")
		equal(t, "Content-Length", r.Header.Get("Content-Length"), fmt.Sprint(len(r.Body)))
	})
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts []client.Option
	}{
		{name: "OwnHTTPClient"},
		{name: "GivenHTTPClient", opts: []client.Option{client.WithHTTPClient(&http.Client{})}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t, answerWith(301, "", map[string]string{"Location": "/elsewhere"}))
			_, err := s.client(tt.opts...).CreateOrder(t.Context(), client.CreateOrder{})
			var e *client.Error
			if !errors.As(err, &e) || e.StatusCode != 301 || !errors.Is(err, client.ErrUnexpectedAnswer) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(e.Message, `"/elsewhere"`) {
				t.Errorf("message %q does not name the destination", e.Message)
			}
			equal(t, "method", s.only().Method, "POST")
		})
	}
}

func TestGivenHTTPClientIsNotChanged(t *testing.T) {
	hc := &http.Client{}
	_, err := client.New("https://assay.example", "k", client.WithHTTPClient(hc))
	noError(t, err)
	if hc.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

func TestResponseHook(t *testing.T) {
	type contextKey struct{}
	var got []client.Response
	s := newService(t,
		answerWith(503, `{"code":"service-unavailable"}`, map[string]string{"X-Request-Id": "r1"}),
		answerWith(200, `{"availableCredits":7}`, map[string]string{
			"X-Request-Id": "r2", "X-RateLimit-Limit": "300", "X-RateLimit-Remaining": "299",
		}),
	)
	c := s.client(client.WithResponseHook(func(ctx context.Context, r client.Response) {
		equal(t, "context value", ctx.Value(contextKey{}), "call 1")
		r.Header = nil
		got = append(got, r)
	}))
	_, err := c.GetBalance(context.WithValue(t.Context(), contextKey{}, "call 1"))
	noError(t, err)
	equal(t, "responses", got, []client.Response{
		{Method: "GET", Path: "/v1/integrations/balance", Attempt: 1, StatusCode: 503, RequestID: "r1"},
		{
			Method: "GET", Path: "/v1/integrations/balance", Attempt: 2, StatusCode: 200, RequestID: "r2",
			RateLimit: &client.RateLimit{Limit: 300, Remaining: 299},
		},
	})
}

func TestRateLimitHeadersOfAnotherForm(t *testing.T) {
	s := newService(t, answerWith(200, `{"availableCredits":7}`, map[string]string{
		"X-RateLimit-Limit": "300", "X-RateLimit-Remaining": "many",
	}))
	c := s.client(client.WithResponseHook(func(_ context.Context, r client.Response) {
		if r.RateLimit != nil {
			t.Errorf("rate limit %+v, want none", *r.RateLimit)
		}
	}))
	_, err := c.GetBalance(t.Context())
	noError(t, err)
}

func TestUntrustedCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake is expected
	server.StartTLS()
	defer server.Close()
	var slept int
	c, err := client.New(server.URL, "k", client.WithSleep(func(context.Context, time.Duration) error {
		slept++
		return nil
	}))
	noError(t, err)
	_, err = c.GetBalance(t.Context())
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) {
		t.Fatalf("got %v, want a certificate error", err)
	}
	equal(t, "waits", slept, 0)
}

func TestAnswerSizeLimit(t *testing.T) {
	const body = `{"availableCredits":7}`
	t.Run("AtTheLimit", func(t *testing.T) {
		s := newService(t, answer(200, body))
		_, err := s.client(client.WithMaxAnswerBytes(int64(len(body)))).GetBalance(t.Context())
		noError(t, err)
	})
	t.Run("OverTheLimit", func(t *testing.T) {
		s := newService(t, answer(200, body))
		_, err := s.client(client.WithMaxAnswerBytes(int64(len(body)) - 1)).GetBalance(t.Context())
		if !errors.Is(err, client.ErrUnexpectedAnswer) || !strings.Contains(err.Error(), "longer than 21 bytes") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("EndlessFailure", func(t *testing.T) {
		s := newService(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		})
		_, err := s.client(client.WithMaxAnswerBytes(1 << 20)).GetBalance(t.Context())
		var e *client.Error
		if !errors.As(err, &e) || e.StatusCode != 400 {
			t.Fatalf("got %v", err)
		}
		equal(t, "kept bytes", len(e.Body), 4<<10)
	})
}
