package order

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

var certificateEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewCertificateID returns an address part that cannot be guessed: 160 random bits.
func NewCertificateID() string {
	var b [20]byte
	_, _ = rand.Read(b[:])
	return strings.ToLower(certificateEncoding.EncodeToString(b[:]))
}
