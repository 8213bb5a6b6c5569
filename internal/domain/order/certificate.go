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

// IsCertificateID reports whether s has the form of a certificate's id.
func IsCertificateID(s string) bool {
	if len(s) != certificateIDLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// certificateIDLength is 160 bits in characters of 5.
const certificateIDLength = 32
