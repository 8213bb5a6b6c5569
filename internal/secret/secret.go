// Package secret encrypts secrets at rest. All keys are derived from one setting, the secret key, each for one
// purpose, so that none reveals another.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// StrongKeyLength is the minimum length of a key that is not Weak.
	StrongKeyLength = 32

	keySize = 32 // bytes of every derived key: AES-256, ed25519 seeds, HMAC-SHA256

	// version is the format of a sealed value, so that later formats can be told apart.
	version = "v1:"

	// Purposes of derived keys. Changing one makes everything encrypted or signed with it unreadable.
	sealPurpose   = "assay seal v1"
	derivePurpose = "assay derive v1: "
)

// ErrOpen is returned by Open for a wrong key, a wrong context, or a changed or malformed value.
var ErrOpen = errors.New("secret cannot be opened")

// Box encrypts and decrypts secrets with one secret key. It is safe for concurrent use.
type Box struct {
	root []byte // HKDF's pseudorandom key
	aead cipher.AEAD
}

// Weak reports whether a key is so short that it may be a typed password instead of a random key.
func Weak(key string) bool { return utf8.RuneCountInString(key) < StrongKeyLength }

// New returns the box for a secret key, which may be any text. The error never contains the key.
func New(key string) (*Box, error) {
	if key == "" {
		return nil, errors.New("secret key must not be empty")
	}
	root, err := hkdf.Extract(sha256.New, []byte(key), nil)
	if err != nil {
		return nil, fmt.Errorf("derive from the secret key: %w", err)
	}
	b := &Box{root: root}
	block, err := aes.NewCipher(b.expand(sealPurpose))
	if err != nil {
		return nil, fmt.Errorf("derive the sealing key: %w", err)
	}
	if b.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, fmt.Errorf("derive the sealing key: %w", err)
	}
	return b, nil
}

// Generate returns a new secret key: 32 random bytes in lower-case hex.
func Generate() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the program ends when the system has no randomness
	return hex.EncodeToString(b[:])
}

// Seal encrypts plaintext and binds it to context, for example the id of its row: a sealed value copied to another
// row does not open. Sealing is not deterministic.
func (b *Box) Seal(plaintext, context string) string {
	sealed := b.aead.Seal(nil, nil, []byte(plaintext), []byte(context))
	return version + base64.RawStdEncoding.EncodeToString(sealed)
}

// Open decrypts a value that was sealed with the same key and context. Its error is ErrOpen.
func (b *Box) Open(sealed, context string) (string, error) {
	encoded, ok := strings.CutPrefix(sealed, version)
	if !ok {
		return "", fmt.Errorf("%w: not a sealed value of a known version", ErrOpen)
	}
	data, err := base64.RawStdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("%w: malformed text", ErrOpen)
	}
	plaintext, err := b.aead.Open(nil, nil, data, []byte(context))
	if err != nil {
		return "", fmt.Errorf("%w: sealed with another secret key, for another use, or changed since", ErrOpen)
	}
	return string(plaintext), nil
}

// Derive returns a 32-byte key that depends only on the secret key and the label: the same on every node.
func (b *Box) Derive(label string) []byte {
	return b.expand(derivePurpose + label)
}

func (b *Box) expand(purpose string) []byte {
	key, err := hkdf.Expand(sha256.New, b.root, purpose, keySize)
	if err != nil {
		panic("secret: " + err.Error()) // only for lengths over 255 hashes
	}
	return key
}

// String keeps the key out of logs.
func (*Box) String() string { return "secret.Box" }

// GoString keeps the key out of %#v.
func (b *Box) GoString() string { return b.String() }
