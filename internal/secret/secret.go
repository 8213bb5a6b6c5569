// Package secret keeps secrets unreadable at rest. One setting, the secret key, is the root of everything: sealed
// values and the keys that other packages ask for are all derived from it, each for its own purpose, so that none
// of them reveals another.
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
	// StrongKeyLength is the least number of characters of a key that is not weak.
	StrongKeyLength = 32

	keySize = 32 // bytes of every derived key: AES-256, ed25519 seeds, HMAC-SHA256

	// version marks the form of a sealed value, so that a later form can be told apart and old values still opened.
	version = "v1:"

	// The purposes of derived keys. Changing one makes everything sealed or signed under it unreadable.
	sealPurpose   = "assay seal v1"
	derivePurpose = "assay derive v1: "
)

// ErrOpen is returned by Open for everything that cannot be opened: another key, another context, a changed or a
// malformed value.
var ErrOpen = errors.New("secret cannot be opened")

// Box seals and opens secrets under one secret key. It is safe for concurrent use.
type Box struct {
	root []byte // HKDF's pseudorandom key
	aead cipher.AEAD
}

// Weak reports whether a key is so short that it could be a password typed in place of a random key.
func Weak(key string) bool { return utf8.RuneCountInString(key) < StrongKeyLength }

// New returns the box of a secret key: any text. The error never holds the key.
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

// Generate returns a fresh secret key: 64 lower-case hex characters that encode 32 random bytes.
func Generate() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: the program ends when the system has no randomness
	return hex.EncodeToString(b[:])
}

// Seal encrypts plaintext and binds it to context, for example the id of the row that holds it: a sealed value moved to
// another row does not open. Two seals of the same plaintext differ.
func (b *Box) Seal(plaintext, context string) string {
	sealed := b.aead.Seal(nil, nil, []byte(plaintext), []byte(context))
	return version + base64.RawStdEncoding.EncodeToString(sealed)
}

// Open returns what was sealed with the same key and context, or an error that is ErrOpen.
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

// Derive returns 32 bytes that depend on the secret key and the label alone: the same after every start and on every
// node, unrelated to those of any other label.
func (b *Box) Derive(label string) []byte {
	return b.expand(derivePurpose + label)
}

func (b *Box) expand(purpose string) []byte {
	key, err := hkdf.Expand(sha256.New, b.root, purpose, keySize)
	if err != nil {
		panic("secret: " + err.Error()) // only a length over 255 hashes is refused
	}
	return key
}

// String keeps the key out of logs and messages that print a box by accident.
func (*Box) String() string { return "secret.Box" }

// GoString does the same for %#v.
func (b *Box) GoString() string { return b.String() }
