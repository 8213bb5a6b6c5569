package webhook

import (
	"strconv"
	"time"
)

// Header is one header of a request.
type Header struct{ Name, Value string }

// Headers returns the headers of every attempt, spelled as documented. User-Agent is not among them: it changes
// with each release, and the request that was sent is reconstructed from these for display.
func Headers(event Event, deliveryID string) []Header {
	return []Header{
		{"Content-Type", "application/json"}, {"X-LG-Event", string(event)}, {"X-LG-Delivery-Id", deliveryID},
	}
}

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
