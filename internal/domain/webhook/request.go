package webhook

import (
	"strconv"
	"time"
)

// Header is one header of a request.
type Header struct{ Name, Value string }

// Headers returns the headers that every attempt on a delivery has, in just the spelling of the interface. The
// sender's name is not among them: it changes with each release, and what was sent is shown later without having
// been kept.
func Headers(event Event, deliveryID string) []Header {
	return []Header{
		{"Content-Type", "application/json"}, {"X-LG-Event", string(event)}, {"X-LG-Delivery-Id", deliveryID},
	}
}

// SignatureHeaders returns the headers of a signed attempt beside those that all have. The timestamp is that of the
// attempt.
func SignatureHeaders(secret string, at time.Time, body []byte) []Header {
	timestamp := at.Unix()
	return []Header{
		{"X-LG-Timestamp", strconv.FormatInt(timestamp, 10)},
		{"X-LG-Signature", Sign(secret, timestamp, body)},
	}
}

// TokenHeaders returns the headers of an attempt with an OAuth2 token beside those that all have.
func TokenHeaders(token string) []Header { return []Header{{"Authorization", "Bearer " + token}} }
