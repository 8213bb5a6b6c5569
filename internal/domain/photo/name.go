package photo

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// A managed name is what the service calls a stored file: 160 random bits as 32 characters, a dot and the extension of
// the format. It cannot be guessed, says nothing about its owner and is safe as a file name, an object key and a path
// element.
const (
	nameAlphabet = "abcdefghijklmnopqrstuvwxyz234567"
	nameBits     = 160
	nameChars    = nameBits / 5
)

var nameEncoding = base32.NewEncoding(nameAlphabet).WithPadding(base32.NoPadding)

// NewName returns a fresh managed name for a file of the format.
func NewName(f Format) string {
	var b [nameBits / 8]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program where there is no randomness
	return nameEncoding.EncodeToString(b[:]) + "." + f.Ext()
}

// ParseName tells whether s is a managed name, and of which format. No other string passes: no separators, no upper
// case, no other extension.
func ParseName(s string) (Format, bool) {
	if len(s) <= nameChars || s[nameChars] != '.' {
		return "", false
	}
	for i := range nameChars {
		if strings.IndexByte(nameAlphabet, s[i]) < 0 {
			return "", false
		}
	}
	return formatOfExt(s[nameChars+1:])
}
