package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/fault"
)

// Key is the stored data of an API key, without the secret.
type Key struct {
	ID string
	Tenant
	Name       string
	Hint       string // the last characters of the key, to tell keys apart
	Scopes     []Scope
	Limits     map[string]int // requests per window by category, where it differs from the default
	Networks   Networks       // allowed client addresses; none: any
	CreatedBy  string         // the account user who made it
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
	LastUsedAt *time.Time // nil: never, as far as is known
}

// Allows reports whether the key has the scope. Every key has the empty scope.
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

	// MaxSecretKey is longer than every key. What is longer need not be hashed to be refused.
	MaxSecretKey = 64

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

func keyPrefix(e Environment) string { return "assay_" + string(e) + "_" }

// NewSecretKey returns a new API key: assay_test_ or assay_live_, 32 random base62 characters and a 6-character
// checksum, by which typos are found without the database and secret scanners recognise keys.
func NewSecretKey(e Environment) string {
	return newSecret(keyPrefix(e))
}

func newSecret(prefix string) string {
	body := prefix + randomBase62(keyRandom)
	return body + checksum(body)
}

// validSecret reports whether s has the prefix, the form and the checksum of a secret that newSecret makes.
func validSecret(prefix, s string) bool {
	if !strings.HasPrefix(s, prefix) || len(s) != len(prefix)+keyRandom+keyChecksum {
		return false
	}
	for i := len(prefix); i < len(s); i++ {
		if strings.IndexByte(base62, s[i]) < 0 {
			return false
		}
	}
	body := s[:len(s)-keyChecksum]
	return hasChecksum(body, s[len(body):])
}

// ParseSecretKey checks the form and checksum of an API key and returns its environment.
func ParseSecretKey(s string) (Environment, bool) {
	for _, e := range Environments {
		if validSecret(keyPrefix(e), s) {
			return e, true
		}
	}
	return "", false
}

// SecretSum is the hash of a key.
type SecretSum [sha256.Size]byte

// SumSecretKey returns the hash of a key.
func SumSecretKey(s string) SecretSum { return sha256.Sum256([]byte(s)) }

// String returns the hash as it is stored.
func (s SecretSum) String() string { return hex.EncodeToString(s[:]) }

// HashSecretKey returns the hash under which a key is stored.
func HashSecretKey(s string) string { return SumSecretKey(s).String() }

// KeyHint returns the end of a key: enough to recognise it, useless to an attacker.
func KeyHint(s string) string { return s[len(s)-4:] }

func checksum(s string) string {
	sum := sumChecksum(s)
	return string(sum[:])
}

// hasChecksum reports whether sum is the checksum of s.
func hasChecksum(s, sum string) bool {
	want := sumChecksum(s)
	return sum == string(want[:])
}

func sumChecksum(s string) (out [keyChecksum]byte) {
	n := crc32.ChecksumIEEE([]byte(s))
	for i := keyChecksum - 1; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return out
}

// randomBase62 draws uniformly by rejecting bytes above the largest multiple of 62.
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

// KeyNotFound is the refusal of a key that does not exist for the actor.
var KeyNotFound = fault.New(fault.NotFound, fault.CodeNotFound, "There is no such API key.").With("entity", "api-key")

// KeyRevoked is the refusal to change a key that has ended.
var KeyRevoked = fault.New(fault.Conflict, "key-revoked", "The key is revoked; it cannot be changed any more.")
