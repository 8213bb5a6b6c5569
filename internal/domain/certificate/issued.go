package certificate

// Issued is a signed certificate with the order it belongs to.
type Issued struct {
	Signed
	ID      string
	OrderID string
}
