package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
	"sync"
	"time"
)

// signatureVersion prefixes every signature, so that a later scheme can be told apart.
const signatureVersion = "v1="

// NewSigningSecret returns a fresh signing secret: 64 lower-case hex characters.
func NewSigningSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the program ends when the system has no randomness
	return hex.EncodeToString(b[:])
}

// Signer signs deliveries with one secret. It is made once for many deliveries: to prepare the key takes longer than to
// sign a small body.
type Signer struct{ macs sync.Pool }

// NewSigner returns the signer of a secret. The key is the text of the secret, not its hex-decoded bytes.
func NewSigner(secret string) *Signer {
	return &Signer{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, []byte(secret)) }}}
}

// Sign returns the signature of a delivery: "v1=" and the lower-case hex HMAC-SHA256 of the timestamp (Unix
// seconds), a dot and the exact body.
func (s *Signer) Sign(timestamp int64, body []byte) string {
	mac, _ := s.macs.Get().(hash.Hash) // the pool has no other type
	defer s.macs.Put(mac)
	mac.Reset()
	mac.Write(append(strconv.AppendInt(make([]byte, 0, 24), timestamp, 10), '.'))
	mac.Write(body)
	signature := append(make([]byte, 0, len(signatureVersion)+2*sha256.Size), signatureVersion...)
	return string(hex.AppendEncode(signature, mac.Sum(make([]byte, 0, sha256.Size))))
}

// Header is one header of a request.
type Header struct{ Name, Value string }

// Headers returns the headers of every attempt, spelled as documented. User-Agent is not among them: it changes
// with each release, and the request that was sent is reconstructed from these for display.
func Headers(event Event, deliveryID string) []Header {
	return []Header{
		{"Content-Type", "application/json"}, {"X-LG-Event", string(event)}, {"X-LG-Delivery-Id", deliveryID},
	}
}

// IsProof reports whether the header proves to the receiver where an attempt comes from.
func (h Header) IsProof() bool { return h.Name == "X-LG-Signature" || h.Name == "Authorization" }

// SignatureHeaders returns the additional headers of a signed attempt. The timestamp is that of the attempt.
func SignatureHeaders(s *Signer, at time.Time, body []byte) []Header {
	timestamp := at.Unix()
	return []Header{
		{"X-LG-Timestamp", strconv.FormatInt(timestamp, 10)},
		{"X-LG-Signature", s.Sign(timestamp, body)},
	}
}

// PreviousSignatureHeader returns the further header of an attempt while the secret before the last rotation is valid.
func PreviousSignatureHeader(s *Signer, at time.Time, body []byte) Header {
	return Header{"X-LG-Signature-Previous", s.Sign(at.Unix(), body)}
}

// TokenHeaders returns the additional headers of an attempt with an OAuth2 token.
func TokenHeaders(token string) []Header { return []Header{{"Authorization", "Bearer " + token}} }
