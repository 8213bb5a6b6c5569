// Package receiver verifies webhook deliveries.
package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// Verify reports whether a delivery was signed with the secret in the last five minutes. timestamp and signature are
// the headers X-LG-Timestamp and X-LG-Signature; body is the raw body, before it is parsed.
func Verify(secret, timestamp, signature string, body []byte, now time.Time) bool {
	if secret == "" { // it is not set, and anybody can sign with an empty one
		return false
	}
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	expected := "v1=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(expected), []byte(signature))
}
