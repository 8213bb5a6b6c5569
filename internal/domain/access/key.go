package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"slices"
	"strings"
	"time"
)

// Key is an API key as it is known to the service: everything but the key itself.
type Key struct {
	ID string
	Tenant
	Name       string
	Hint       string // the last characters of the key, to tell keys apart
	Scopes     []Scope
	Limits     map[string]int // requests per window by category, where an operator set another limit
	Networks   Networks       // where it may be used from; none: anywhere
	CreatedBy  string         // the account user who made it
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time // nil: never, as far as is known
}

// Allows reports whether the key carries the scope; the empty scope is carried by every key.
func (k *Key) Allows(scope Scope) bool {
	return scope == "" || slices.Contains(k.Scopes, scope)
}

// UsableAt reports whether the key authenticates at the time t.
func (k *Key) UsableAt(t time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || t.Before(*k.ExpiresAt))
}

const (
	keyRandom   = 32
	keyChecksum = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func keyPrefix(e Environment) string { return "assay_" + string(e) + "_" }

// NewSecretKey returns a fresh API key: assay_test_ or assay_live_, 32 random base62 characters and a 6-character
// checksum, so that a typo or a scanner's find is recognised without the database.
func NewSecretKey(e Environment) string {
	body := keyPrefix(e) + randomBase62(keyRandom)
	return body + checksum(body)
}

// ParseSecretKey reports whether s has the form and checksum of an API key, and of which environment.
func ParseSecretKey(s string) (Environment, bool) {
	for _, e := range Environments {
		prefix := keyPrefix(e)
		if !strings.HasPrefix(s, prefix) || len(s) != len(prefix)+keyRandom+keyChecksum {
			continue
		}
		for i := len(prefix); i < len(s); i++ {
			if strings.IndexByte(base62, s[i]) < 0 {
				return "", false
			}
		}
		body := s[:len(s)-keyChecksum]
		return e, s[len(body):] == checksum(body)
	}
	return "", false
}

// HashSecretKey is what is stored of a key.
func HashSecretKey(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// KeyHint returns the end of a key, enough to recognise it and useless to an attacker.
func KeyHint(s string) string { return s[len(s)-4:] }

func checksum(s string) string {
	n := crc32.ChecksumIEEE([]byte(s))
	var out [keyChecksum]byte
	for i := keyChecksum - 1; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return string(out[:])
}

// randomBase62 draws uniformly: bytes over the largest multiple of 62 are thrown away.
func randomBase62(n int) string {
	out := make([]byte, 0, n)
	var buf [64]byte
	for len(out) < n {
		_, _ = rand.Read(buf[:]) // never fails: crypto/rand ends the program rather than return an error
		for _, b := range buf {
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}
