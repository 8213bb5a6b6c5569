package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// signatureVersion prefixes every signature, so that a later scheme can be told apart.
const signatureVersion = "v1="

// NewSigningSecret returns a fresh signing secret: 64 lower-case hex characters.
func NewSigningSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the program ends when the system has no randomness
	return hex.EncodeToString(b[:])
}

// Sign returns the signature of a delivery: "v1=" and the lower-case hex HMAC-SHA256 of the timestamp (Unix
// seconds), a dot and the exact body. The key is the text of the secret, not its hex-decoded bytes.
func Sign(secret string, timestamp int64, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(strconv.AppendInt(nil, timestamp, 10))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return signatureVersion + hex.EncodeToString(mac.Sum(nil))
}
