package certificate

import "time"

// Issued is a signed certificate with the order it belongs to.
type Issued struct {
	Signed
	ID      string
	OrderID string
}

// Revoked is a certificate that was taken back, in a list.
type Revoked struct {
	ID          string
	OrderID     string
	OrderNumber string
	Test        bool
	Reason      string
	At          time.Time
}
