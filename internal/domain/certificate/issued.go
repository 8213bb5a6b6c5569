package certificate

import (
	"fmt"
	"time"
)

// Issued is a signed certificate with the order it belongs to.
type Issued struct {
	Signed
	ID      string
	OrderID string
}

// Verify is that of Signed, and checks that the document is that of the id.
func (c *Issued) Verify(keys KeySet) (*Certificate, error) {
	facts, err := c.Signed.Verify(keys)
	if err == nil && facts.ID != c.ID {
		err = fmt.Errorf("%w: the document is that of the certificate %s", ErrSignature, facts.ID)
	}
	return facts, err
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
