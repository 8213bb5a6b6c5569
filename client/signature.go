package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"
)

// Headers of webhook deliveries. Only the timestamp is covered by the signature; event and delivery id are also in the
// signed body.
const (
	HeaderEvent      = "X-LG-Event"
	HeaderDeliveryID = "X-LG-Delivery-Id"
	HeaderTimestamp  = "X-LG-Timestamp"
	HeaderSignature  = "X-LG-Signature"

	// HeaderPreviousSignature is there for a while after the secret of an endpoint was rotated: the signature with the
	// secret before.
	HeaderPreviousSignature = "X-LG-Signature-Previous"
)

// DefaultTolerance is how far the timestamp of a delivery may be from the receiver's clock. The service takes a new
// timestamp for each attempt, so that retries are not older.
const DefaultTolerance = 5 * time.Minute

// Errors of [VerifySignature].
var (
	ErrNoSecret         = errors.New("assay: the webhook signing secret is empty")
	ErrMissingSignature = errors.New("assay: the webhook delivery has no timestamp or no signature")
	ErrInvalidSignature = errors.New("assay: the webhook signature does not match")
	ErrTimestamp        = errors.New("assay: the webhook timestamp is too far from now")
)

const signatureVersion = "v1="

// VerifySignature checks that a webhook delivery was signed with secret and is fresh. The headers are the values of
// [HeaderTimestamp] and [HeaderSignature], and body is the exact body as received: verify before parsing. A tolerance
// of zero or less is [DefaultTolerance].
//
// The comparison takes the same time wherever the signatures differ. The error is one of [ErrNoSecret],
// [ErrMissingSignature], [ErrInvalidSignature] and [ErrTimestamp].
func VerifySignature(
	secret, timestampHeader, signatureHeader string, body []byte, tolerance time.Duration, now time.Time,
) error {
	if secret == "" {
		return ErrNoSecret // anyone can sign with an empty key
	}
	if timestampHeader == "" || signatureHeader == "" {
		return ErrMissingSignature
	}
	if !hmac.Equal([]byte(signatureHeader), []byte(sign(secret, timestampHeader, body))) {
		return ErrInvalidSignature
	}
	seconds, err := strconv.ParseInt(timestampHeader, 10, 64)
	if err != nil {
		return ErrTimestamp
	}
	if tolerance <= 0 {
		tolerance = DefaultTolerance
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return ErrTimestamp
	}
	return nil
}

// Sign returns the values of [HeaderTimestamp] and [HeaderSignature] for a delivery at the given time. It is what the
// service does; a receiver's tests can use it.
func Sign(secret string, at time.Time, body []byte) (timestampHeader, signatureHeader string) {
	timestampHeader = strconv.FormatInt(at.Unix(), 10)
	return timestampHeader, sign(secret, timestampHeader, body)
}

func sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return signatureVersion + hex.EncodeToString(mac.Sum(nil))
}
