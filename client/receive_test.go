package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayhq/assay/client"
)

const (
	signingSecret = "6b65792d666f722d74657374732d6b65792d666f722d74657374732d6b657931"
	outcomeBody   = `{"webhook_event":"order-outcome","delivery_id":"d1","external_id":"shop/1","order_number":"AS-1",` +
		`"created_at":"2026-03-01T10:00:00.000Z","id":"o1","status":"completed","outcome":"authentic",` +
		`"outcome_locale":"Authentic","delayed":false,"classification":{"brand_code":"chanel"},"due_date":null,` +
		`"updated_at":"2026-03-01T09:59:59.000Z","certificate_url":null,"outcome_reasons":["Stitching"]}`
)

var received = time.Date(2026, 3, 1, 10, 0, 1, 0, time.UTC)

func TestVerifySignature(t *testing.T) {
	body := []byte(outcomeBody)
	stamp, signature := client.Sign(signingSecret, received, body)
	at := func(offset time.Duration) (string, string) {
		return client.Sign(signingSecret, received.Add(offset), body)
	}
	type delivery struct {
		secret, stamp, signature string
		body                     []byte
		tolerance                time.Duration
	}
	valid := delivery{secret: signingSecret, stamp: stamp, signature: signature, body: body}
	for _, tt := range []struct {
		name   string
		change func(*delivery)
		want   error
	}{
		{"Valid", func(*delivery) {}, nil},
		{"NoSecret", func(d *delivery) {
			d.secret = ""
			d.stamp, d.signature = client.Sign("", received, body)
		}, client.ErrNoSecret},
		{"OtherSecret", func(d *delivery) { d.secret = strings.Repeat("0", 64) }, client.ErrInvalidSignature},
		{"NoTimestamp", func(d *delivery) { d.stamp = "" }, client.ErrMissingSignature},
		{"NoSignature", func(d *delivery) { d.signature = "" }, client.ErrMissingSignature},
		{"OtherBody", func(d *delivery) { d.body = []byte(outcomeBody + " ") }, client.ErrInvalidSignature},
		{"OtherTimestamp", func(d *delivery) { d.stamp += "0" }, client.ErrInvalidSignature},
		{"WithoutVersion", func(d *delivery) { d.signature = d.signature[3:] }, client.ErrInvalidSignature},
		{"OtherVersion", func(d *delivery) { d.signature = "v2=" + d.signature[3:] }, client.ErrInvalidSignature},
		{
			"UpperCase", func(d *delivery) {
				d.signature = "v1=" + strings.ToUpper(d.signature[3:])
			}, client.ErrInvalidSignature,
		},
		{"Shortened", func(d *delivery) { d.signature = d.signature[:40] }, client.ErrInvalidSignature},
		{"JustInTime", func(d *delivery) { d.stamp, d.signature = at(-5 * time.Minute) }, nil},
		{"TooOld", func(d *delivery) { d.stamp, d.signature = at(-5*time.Minute - time.Second) }, client.ErrTimestamp},
		{"SlightlyAhead", func(d *delivery) { d.stamp, d.signature = at(5 * time.Minute) }, nil},
		{"FromTheFuture", func(d *delivery) { d.stamp, d.signature = at(5*time.Minute + time.Second) }, client.ErrTimestamp},
		{"OwnTolerance", func(d *delivery) {
			d.tolerance = time.Second
			d.stamp, d.signature = at(-2 * time.Second)
		}, client.ErrTimestamp},
		{"NegativeToleranceIsDefault", func(d *delivery) { d.tolerance = -1 }, nil},
		{"FarPast", func(d *delivery) {
			d.stamp, d.signature = client.Sign(signingSecret, time.Unix(math.MinInt64, 0), body)
		}, client.ErrTimestamp},
		{"FarFuture", func(d *delivery) {
			d.stamp, d.signature = client.Sign(signingSecret, time.Unix(math.MaxInt32<<20, 0), body)
		}, client.ErrTimestamp},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := valid
			tt.change(&d)
			err := client.VerifySignature(d.secret, d.stamp, d.signature, d.body, d.tolerance, received)
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// TestSignatureMatchesOpenSSL checks the signature against a value computed with another program:
//
//	printf '1772359201.{"a":1}' | openssl dgst -sha256 -hmac "$SECRET"
func TestSignatureMatchesOpenSSL(t *testing.T) {
	stamp, signature := client.Sign(signingSecret, received, []byte(`{"a":1}`))
	equal(t, "timestamp", stamp, "1772359201")
	equal(t, "signature", signature, "v1=68a9a9c0400a2cbe7a64d73926265bd39bf3cfaaf73bfe76d0b3606b073d856a")
}

// signed returns a request as the service sends it.
func signed(t *testing.T, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook", strings.NewReader(body))
	stamp, signature := client.Sign(signingSecret, received, []byte(body))
	r.Header.Set(client.HeaderTimestamp, stamp)
	r.Header.Set(client.HeaderSignature, signature)
	return r
}

var atReceipt = client.WebhookClock(func() time.Time { return received })

func TestParseWebhook(t *testing.T) {
	t.Run("Outcome", func(t *testing.T) {
		got, err := client.ParseWebhook(signed(t, outcomeBody), signingSecret, atReceipt)
		noError(t, err)
		equal(t, "event", got.Event, client.EventOrderOutcome)
		equal(t, "delivery id", got.DeliveryID, "d1")
		equal(t, "external id", *got.ExternalID, "shop/1")
		equal(t, "order number", *got.OrderNumber, "AS-1")
		equal(t, "created at", got.CreatedAt, time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
		equal(t, "order id", got.ID, "o1")
		equal(t, "status", got.Status, client.StatusCompleted)
		equal(t, "authentic", got.HasOutcome(client.OutcomeAuthentic), true)
		equal(t, "brand", *got.Classification.BrandCode, "chanel")
		equal(t, "reasons", got.OutcomeReasons, []string{"Stitching"})
	})
	t.Run("UpdatePhotos", func(t *testing.T) {
		got, err := client.ParseWebhook(signed(t, `{"webhook_event":"update-photos","delivery_id":"d2","id":"o1",
			"created_at":"2026-03-01T10:00:00.000Z","status":"update-photos",
			"photos_to_resubmit":[{"index_code":"serial","max_photos":2}]}`),
			signingSecret, atReceipt)
		noError(t, err)
		equal(t, "event", got.Event, client.EventUpdatePhotos)
		equal(t, "photos", got.PhotosToResubmit[0].IndexCode, "serial")
	})
	t.Run("UnknownEvent", func(t *testing.T) {
		got, err := client.ParseWebhook(signed(t, `{"webhook_event":"later","delivery_id":"d","id":"o1"}`), signingSecret,
			atReceipt)
		noError(t, err)
		equal(t, "event", got.Event, client.WebhookEvent("later"))
	})
	for _, body := range []string{
		``, `{`, `[]`, `{"webhook_event":"later","id":"o1"}`, `{"delivery_id":"d","id":"o1"}`,
		`{"webhook_event":"x","delivery_id":"d"}`,
	} {
		t.Run("Malformed", func(t *testing.T) {
			_, err := client.ParseWebhook(signed(t, body), signingSecret, atReceipt)
			if !errors.Is(err, client.ErrMalformedWebhook) {
				t.Errorf("body %s: got %v", body, err)
			}
		})
	}
	t.Run("VerifiesBeforeParsing", func(t *testing.T) {
		r := signed(t, `{`)
		r.Header.Set(client.HeaderSignature, "v1=00")
		_, err := client.ParseWebhook(r, signingSecret, atReceipt)
		equal(t, "is invalid signature", errors.Is(err, client.ErrInvalidSignature), true)
	})
	t.Run("RealClock", func(t *testing.T) {
		_, err := client.ParseWebhook(signed(t, outcomeBody), signingSecret)
		equal(t, "is timestamp", errors.Is(err, client.ErrTimestamp), true)
	})
	t.Run("Tolerance", func(t *testing.T) {
		late := client.WebhookClock(func() time.Time { return received.Add(time.Hour) })
		_, err := client.ParseWebhook(signed(t, outcomeBody), signingSecret, late, client.WebhookTolerance(time.Hour))
		noError(t, err)
	})
	t.Run("SizeLimit", func(t *testing.T) {
		size := int64(len(outcomeBody))
		_, err := client.ParseWebhook(signed(t, outcomeBody), signingSecret, atReceipt, client.WebhookMaxBytes(size))
		noError(t, err)
		_, err = client.ParseWebhook(signed(t, outcomeBody), signingSecret, atReceipt, client.WebhookMaxBytes(size-1))
		equal(t, "is too large", errors.Is(err, client.ErrWebhookTooLarge), true)
		_, err = client.ParseWebhook(signed(t, outcomeBody), signingSecret, atReceipt, client.WebhookMaxBytes(math.MaxInt64))
		noError(t, err)
	})
	t.Run("UnreadableBody", func(t *testing.T) {
		broken := errors.New("gone")
		r := signed(t, outcomeBody)
		r.Body = io.NopCloser(brokenReader{broken})
		_, err := client.ParseWebhook(r, signingSecret, atReceipt)
		equal(t, "is the cause", errors.Is(err, broken), true)
	})
}

// TestWebhookHandler_Log checks where errors go without [client.WebhookErrors].
func TestWebhookHandler_Log(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for _, secret := range []string{signingSecret, ""} {
		fails := func(context.Context, *client.WebhookDelivery) error { return errors.New("no stock") }
		w := httptest.NewRecorder()
		client.WebhookHandler(secret, fails, atReceipt).ServeHTTP(w, signed(t, outcomeBody))
		equal(t, "status", w.Code, http.StatusInternalServerError)
	}
	for _, want := range []string{"delivery_id=d1", `error="no stock"`, client.ErrNoSecret.Error()} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %s:\n%s", want, &log)
		}
	}
}

func TestWebhookHandler(t *testing.T) {
	for _, tt := range []struct {
		name    string
		secret  string
		request func(*http.Request)
		body    string
		result  error
		opts    []client.WebhookOption
		status  int
		handled bool
	}{
		{name: "Accepted", status: 204, handled: true},
		{name: "HandlerFails", result: errors.New("database password is hunter2"), status: 500, handled: true},
		{name: "OtherMethod", request: func(r *http.Request) { r.Method = http.MethodGet }, status: 405},
		{name: "Unsigned", request: func(r *http.Request) { r.Header.Del(client.HeaderSignature) }, status: 401},
		{
			name:    "WrongSignature",
			request: func(r *http.Request) { r.Header.Set(client.HeaderSignature, "v1=0") },
			status:  401,
		},
		{name: "WrongTimestamp", request: func(r *http.Request) {
			r.Header.Set(client.HeaderTimestamp, strconv.Itoa(int(received.Unix())+1))
		}, status: 401},
		{name: "Malformed", body: `{}`, status: 400},
		{name: "TooLarge", opts: []client.WebhookOption{client.WebhookMaxBytes(10)}, status: 413},
		{name: "NoSecret", secret: "none", status: 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, secret := outcomeBody, signingSecret
			if tt.body != "" {
				body = tt.body
			}
			if tt.secret == "none" {
				secret = ""
			}
			handled := false
			var reported []error
			report := client.WebhookErrors(func(_ context.Context, _ *client.WebhookDelivery, err error) {
				reported = append(reported, err)
			})
			handler := client.WebhookHandler(secret, func(_ context.Context, d *client.WebhookDelivery) error {
				handled = true
				equal(t, "delivery id", d.DeliveryID, "d1")
				return tt.result
			}, append([]client.WebhookOption{atReceipt, report}, tt.opts...)...)
			r := signed(t, body)
			if tt.request != nil {
				tt.request(r)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			equal(t, "status", w.Code, tt.status)
			equal(t, "handled", handled, tt.handled)
			equal(t, "reported", len(reported) == 1, tt.status == http.StatusInternalServerError)
			if tt.result != nil {
				equal(t, "is the handler's error", errors.Is(reported[0], tt.result), true)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the answer shows the handler's error: %s", w.Body)
			}
		})
	}
}
