package client

import (
	"context"
	"time"
)

// NewCaptureLink says what capture link to make: for an item, with CategoryCode and BrandCode, or for the open photo
// request of an order, with OrderID. Zero optional fields are not sent.
type NewCaptureLink struct {
	CategoryCode string `json:"category_code,omitempty"`
	BrandCode    string `json:"brand_code,omitempty"`
	ModelCode    string `json:"model_code,omitempty"`
	ExternalID   string `json:"external_id,omitempty"` // your own reference
	OrderID      string `json:"order_id,omitempty"`    // id or external id
	ExpiresIn    int    `json:"expires_in,omitempty"`  // seconds, 3600 to 604800; otherwise two days
	Locale       Locale `json:"locale,omitempty"`      // of the page; otherwise that of the browser
	ReturnURL    string `json:"return_url,omitempty"`  // where the page leads to at the end
}

// CreatedCaptureLink is a new capture link. URL is told once; who has it can use the link.
type CreatedCaptureLink struct {
	ID        string        `json:"id"`
	URL       string        `json:"url"`
	ExpiresAt time.Time     `json:"expires_at"`
	Status    CaptureStatus `json:"status"`
}

func (l *CreatedCaptureLink) missing() string {
	return firstMissing("id", l.ID, "status", string(l.Status))
}

// CaptureStatus is how far a capture link is.
type CaptureStatus string

// The statuses of capture links. All but open are final.
const (
	CaptureOpen      CaptureStatus = "open"
	CaptureSubmitted CaptureStatus = "submitted"
	CaptureExpired   CaptureStatus = "expired"
	CaptureRevoked   CaptureStatus = "revoked"
)

// CaptureLink is a capture link with the photos that the seller has submitted.
type CaptureLink struct {
	ID          string          `json:"id"`
	Status      CaptureStatus   `json:"status"`
	ExpiresAt   time.Time       `json:"expires_at"`
	SubmittedAt *time.Time      `json:"submitted_at"`
	ExternalID  *string         `json:"external_id"`
	OrderID     *string         `json:"order_id"`
	Photos      []CapturedPhoto `json:"photos"` // empty until they are submitted
}

func (l *CaptureLink) missing() string { return firstMissing("id", l.ID, "status", string(l.Status)) }

// CapturedPhoto is a photo that a seller took.
type CapturedPhoto struct {
	IndexCode string `json:"index_code"`
	URL       string `json:"url"`
}

// CreateCaptureLink makes an address where a seller takes photos on a phone. The request is sent once: after an
// ambiguous failure make another link, the lost one expires.
func (c *Client) CreateCaptureLink(ctx context.Context, link NewCaptureLink) (*CreatedCaptureLink, error) {
	return send[CreatedCaptureLink](ctx, c, "/capture_links", link)
}

// GetCaptureLink tells how far a capture link is.
func (c *Client) GetCaptureLink(ctx context.Context, id string) (*CaptureLink, error) {
	path, err := captureLinks.item(id)
	if err != nil {
		return nil, err
	}
	return read[CaptureLink](ctx, c, path, nil)
}

// RevokeCaptureLink ends an open capture link. [CodeNotFound] means that it is not open any more.
func (c *Client) RevokeCaptureLink(ctx context.Context, id string) error {
	return c.remove(ctx, captureLinks, id)
}
