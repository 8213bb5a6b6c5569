// Package secret encrypts secrets at rest with one setting, the secret key, which can be replaced by another. Keys for
// other purposes, such as signing, are random and kept sealed, each for one purpose, so that none reveals another.
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
	// MinKeyLength is how many characters a secret key has at least: it is a random key, not a typed password.
	MinKeyLength = 32

	keySize = 32 // bytes of every derived key: AES-256, ed25519 seeds, HMAC-SHA256

	// version is the format of a sealed value, so that later formats can be told apart. It is followed by the id of the
	// secret key and the encrypted text.
	version = "v2:"

	// Purposes of derived keys. Changing one makes everything encrypted or signed with it unreadable.
	sealPurpose   = "assay seal v1"
	idPurpose     = "assay key id v1"
	derivePurpose = "assay derive v1: "
)

// ErrOpen is returned by Open for a wrong key, a wrong context, or a changed or malformed value.
var ErrOpen = errors.New("secret cannot be opened")

// Box encrypts with one secret key and decrypts with it or one of the previous ones. It is safe for concurrent use.
type Box struct {
	keys []sealingKey // the first is the current one
	root []byte       // of derived keys
	kept map[string][]byte
}

// sealingKey is a secret key in use.
type sealingKey struct {
	id   string // public: tells which key a value was sealed with
	aead cipher.AEAD
}

// Weak reports whether a key is so short that it may be a typed password instead of a random key.
func Weak(key string) bool { return utf8.RuneCountInString(key) < MinKeyLength }

// New returns the box for a secret key, which may be any text, and those that it replaces. Empty previous keys are
// left out. The error never contains a key.
func New(key string, previous ...string) (*Box, error) {
	if key == "" {
		return nil, errors.New("secret key must not be empty")
	}
	b := new(Box)
	for i, k := range append([]string{key}, previous...) {
		if k == "" {
			continue
		}
		root, err := hkdf.Extract(sha256.New, []byte(k), nil)
		if err != nil {
			return nil, fmt.Errorf("derive from the secret key: %w", err)
		}
		block, err := aes.NewCipher(expand(root, sealPurpose))
		if err != nil {
			return nil, fmt.Errorf("derive the sealing key: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("derive the sealing key: %w", err)
		}
		b.keys = append(b.keys, sealingKey{id: hex.EncodeToString(expand(root, idPurpose)[:4]), aead: aead})
		if i == 0 {
			b.root = root
		}
	}
	return b, nil
}

// Generate returns a new secret key: 32 random bytes in lower-case hex.
func Generate() string {
	return hex.EncodeToString(NewKey())
}

// Seal encrypts plaintext with the current key and binds it to context, for example the id of its row: a sealed value
// copied to another row does not open. Sealing is not deterministic.
func (b *Box) Seal(plaintext, context string) string {
	sealed := b.keys[0].aead.Seal(nil, nil, []byte(plaintext), []byte(context))
	return b.Prefix() + base64.RawStdEncoding.EncodeToString(sealed)
}

// Prefix is what every value begins with that is sealed with the current key.
func (b *Box) Prefix() string { return version + b.keys[0].id + ":" }

// Open decrypts a value that was sealed with the current or a previous key, with the same context. Its error is
// ErrOpen.
func (b *Box) Open(sealed, context string) (string, error) {
	rest, ok := strings.CutPrefix(sealed, version)
	id, encoded, found := strings.Cut(rest, ":")
	if !ok || !found {
		return "", fmt.Errorf("%w: not a sealed value of a known version", ErrOpen)
	}
	data, err := base64.RawStdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("%w: malformed text", ErrOpen)
	}
	for _, k := range b.keys {
		if k.id != id {
			continue
		}
		if plaintext, err := k.aead.Open(nil, nil, data, []byte(context)); err == nil {
			return string(plaintext), nil
		}
	}
	return "", fmt.Errorf("%w: sealed with another secret key, for another use, or changed since", ErrOpen)
}

// Reseal returns a value of a previous key sealed with the current one. Its error is ErrOpen.
func (b *Box) Reseal(sealed, context string) (string, error) {
	plaintext, err := b.Open(sealed, context)
	if err != nil {
		return "", err
	}
	return b.Seal(plaintext, context), nil
}

// RootLabel is the label of the kept key that Derive derives all others from.
const RootLabel = "root"

// Keep returns the box with random keys that an installation keeps, sealed, in its database: they stay when the secret
// key changes. Derive returns the key that is kept for a label, or derives one from that of RootLabel.
func (b *Box) Keep(keys map[string][]byte) *Box {
	return &Box{keys: b.keys, root: keys[RootLabel], kept: keys}
}

// Derive returns a 32-byte key for a label: the same on every node. Without kept keys it depends on the secret key.
func (b *Box) Derive(label string) []byte {
	if key, ok := b.kept[label]; ok {
		return key
	}
	return expand(b.root, derivePurpose+label)
}

func expand(root []byte, purpose string) []byte {
	key, err := hkdf.Expand(sha256.New, root, purpose, keySize)
	if err != nil {
		panic("secret: " + err.Error()) // only for lengths over 255 hashes
	}
	return key
}

// NewKey returns a random key of the size that Derive returns.
func NewKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails: the program ends when the system has no randomness
	return key
}

// String keeps the key out of logs.
func (*Box) String() string { return "secret.Box" }

// GoString keeps the key out of %#v.
func (b *Box) GoString() string { return b.String() }
