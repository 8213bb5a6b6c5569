package webhook

import (
	"strconv"
	"time"
)

// UserAgent is how the sender of deliveries names itself. It does not change with releases, so that what was sent can be shown
// later without having been kept.
const UserAgent = "Assay-Webhooks/1"

// Header is one header of a request.
type Header struct{ Name, Value string }

// Headers returns the headers that every attempt on a delivery has, in just the spelling of the interface.
func Headers(event Event, deliveryID string) []Header {
	return []Header{
		{"Content-Type", "application/json"}, {"User-Agent", UserAgent}, {"X-LG-Event", string(event)}, {"X-LG-Delivery-Id", deliveryID},
	}
}

// SignatureHeaders returns the headers of a signed attempt beside those that all have. The timestamp is that of the attempt.
func SignatureHeaders(secret string, at time.Time, body []byte) []Header {
	timestamp := at.Unix()
	return []Header{{"X-LG-Timestamp", strconv.FormatInt(timestamp, 10)}, {"X-LG-Signature", Sign(secret, timestamp, body)}}
}

// TokenHeaders returns the headers of an attempt with an OAuth2 token beside those that all have.
func TokenHeaders(token string) []Header { return []Header{{"Authorization", "Bearer " + token}} }
