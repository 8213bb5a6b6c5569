package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"time"
)

const defaultMaxWebhookBytes = 1 << 20

// Errors of [ParseWebhook] and [DecodeWebhook], besides those of [VerifySignature].
var (
	ErrWebhookTooLarge  = errors.New("assay: the webhook body is too large")
	ErrMalformedWebhook = errors.New("assay: the webhook body is not a delivery of the service")
)

// WebhookDelivery is what a webhook delivers: an event and the order's state at that time, in the account's language.
// Deliveries have no guaranteed order; [Client.GetOrder] has the current state.
type WebhookDelivery struct {
	Event       WebhookEvent `json:"webhook_event"`
	DeliveryID  string       `json:"delivery_id"` // the same in all attempts; process each one once
	ExternalID  *string      `json:"external_id"`
	OrderNumber *string      `json:"order_number"`
	CreatedAt   time.Time    `json:"created_at"`

	OrderDetail // ID is the id of the order
}

// WebhookOption changes how deliveries are received.
type WebhookOption func(*webhookSettings)

type webhookSettings struct {
	tolerance time.Duration
	maxBytes  int64
	now       func() time.Time
	secrets   []string
	failed    func(context.Context, *WebhookDelivery, error)
}

func newWebhookSettings(secret string, opts []WebhookOption) *webhookSettings {
	s := &webhookSettings{
		tolerance: DefaultTolerance, maxBytes: defaultMaxWebhookBytes, now: time.Now, secrets: []string{secret},
		failed: logFailure,
	}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

func logFailure(ctx context.Context, delivery *WebhookDelivery, err error) {
	if delivery == nil {
		slog.ErrorContext(ctx, "assay: a webhook cannot be received", "error", err)
		return
	}
	slog.ErrorContext(ctx, "assay: a webhook delivery failed", "delivery_id", delivery.DeliveryID, "error", err)
}

// WebhookErrors has [WebhookHandler] report to failed what it answers with 500: the errors of handle, and, with a nil
// delivery, that there is no secret. By default they go to the default logger of [log/slog].
func WebhookErrors(failed func(ctx context.Context, delivery *WebhookDelivery, err error)) WebhookOption {
	return func(s *webhookSettings) { s.failed = failed }
}

// WebhookSecrets accepts deliveries that are signed with one of these secrets as well: those of several endpoints with
// one URL, or both secrets while one is rotated.
func WebhookSecrets(secrets ...string) WebhookOption {
	return func(s *webhookSettings) { s.secrets = append(s.secrets, secrets...) }
}

// verify checks a delivery against all secrets and both signatures, and returns nil if one fits, otherwise the error of
// the first secret.
func (s *webhookSettings) verify(header http.Header, body []byte) error {
	timestamp, now := header.Get(HeaderTimestamp), s.now()
	var first error
	for _, secret := range s.secrets {
		for _, name := range []string{HeaderSignature, HeaderPreviousSignature} {
			err := VerifySignature(secret, timestamp, header.Get(name), body, s.tolerance, now)
			if err == nil {
				return nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return first
}

// WebhookTolerance sets how far the timestamp of a delivery may be from now: [DefaultTolerance] by default.
func WebhookTolerance(d time.Duration) WebhookOption {
	return func(s *webhookSettings) { s.tolerance = d }
}

// WebhookMaxBytes sets the longest body that is read: 1 MiB by default.
func WebhookMaxBytes(n int64) WebhookOption {
	return func(s *webhookSettings) {
		s.maxBytes = min(n, math.MaxInt64-1) // one byte more is read to notice a longer body
	}
}

// WebhookClock replaces time.Now. It is meant for tests.
func WebhookClock(now func() time.Time) WebhookOption {
	return func(s *webhookSettings) { s.now = now }
}

// ParseWebhook reads a signed delivery: the body up to a limit, then the signature and the timestamp, and only then
// the content. The secret is [CreatedWebhook.SigningSecret]; [WebhookSecrets] adds others. After a rotation the secret
// before is good for as long as the service signs with it, too.
//
// The error is one of [VerifySignature], [ErrWebhookTooLarge], [ErrMalformedWebhook], or that of reading the body.
// Deliveries to an OAuth2 endpoint are not signed: check their bearer token and use [DecodeWebhook].
func ParseWebhook(r *http.Request, secret string, opts ...WebhookOption) (*WebhookDelivery, error) {
	return newWebhookSettings(secret, opts).parse(r)
}

func (s *webhookSettings) parse(r *http.Request) (*WebhookDelivery, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, s.maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("assay: read the webhook body: %w", err)
	}
	if int64(len(body)) > s.maxBytes {
		return nil, ErrWebhookTooLarge
	}
	if err := s.verify(r.Header, body); err != nil {
		return nil, err
	}
	return DecodeWebhook(body)
}

// DecodeWebhook decodes the body of a delivery whose sender is already verified. An event that this package does not
// know is not an error. The error wraps [ErrMalformedWebhook].
func DecodeWebhook(body []byte) (*WebhookDelivery, error) {
	var delivery WebhookDelivery
	if err := json.Unmarshal(body, &delivery); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformedWebhook, err)
	}
	absent := firstMissing("webhook_event", string(delivery.Event), "delivery_id", delivery.DeliveryID, "id", delivery.ID)
	if absent != "" {
		return nil, fmt.Errorf("%w: it has no %s", ErrMalformedWebhook, absent)
	}
	return &delivery, nil
}

// WebhookHandler returns a handler that verifies signed deliveries and passes them to handle. It answers 204 when
// handle returns nil and 500 when it returns an error, so that the service delivers again (four attempts in all);
// [WebhookErrors] hears of the error. A request that is not a valid delivery gets 400, 401, 405 or 413 and does not
// reach handle.
//
// The service waits 10 seconds for the answer. Let handle store the delivery and do long work elsewhere.
//
// The handler does not filter repeated deliveries, because only your storage can do that reliably: handle must
// recognise a [WebhookDelivery.DeliveryID] it has processed, and return nil for it. For one that is still being
// processed it must return an error: nil would acknowledge what may yet fail.
func WebhookHandler(
	secret string, handle func(context.Context, *WebhookDelivery) error, opts ...WebhookOption,
) http.Handler {
	settings := newWebhookSettings(secret, opts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "deliveries are POST requests", http.StatusMethodNotAllowed)
			return
		}
		delivery, err := settings.parse(r)
		if err != nil {
			status, text := webhookRefusal(err)
			if status == http.StatusInternalServerError {
				settings.failed(r.Context(), nil, err)
			}
			http.Error(w, text, status)
			return
		}
		if err := handle(r.Context(), delivery); err != nil {
			settings.failed(r.Context(), delivery, err) // not to the sender, who has no use for the error's text
			http.Error(w, "the delivery could not be processed", http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

func webhookRefusal(err error) (status int, text string) {
	switch {
	case errors.Is(err, ErrNoSecret):
		return http.StatusInternalServerError, "the receiver has no signing secret"
	case errors.Is(err, ErrMissingSignature), errors.Is(err, ErrInvalidSignature), errors.Is(err, ErrTimestamp):
		return http.StatusUnauthorized, "the signature is missing, wrong or too old"
	case errors.Is(err, ErrWebhookTooLarge):
		return http.StatusRequestEntityTooLarge, "the body is too large"
	default:
		return http.StatusBadRequest, "the body is not a delivery"
	}
}
