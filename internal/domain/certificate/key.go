package certificate

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

var encoding = base64.RawURLEncoding.Strict()

// Signer signs certificates with one key, of Test or of Live orders.
type Signer struct {
	key  ed25519.PrivateKey
	id   string
	test bool
}

// NewSigner returns a signer for a seed of 32 bytes; test: of Test orders.
func NewSigner(seed []byte, test bool) (*Signer, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("a signing key is made of %d bytes, not %d", ed25519.SeedSize, len(seed))
	}
	key := ed25519.NewKeyFromSeed(seed)
	return &Signer{key: key, id: KeyID(key.Public().(ed25519.PublicKey)), test: test}, nil
}

// Key returns the public part, for the key set.
func (s *Signer) Key() Key {
	return Key{ID: s.id, Public: s.key.Public().(ed25519.PublicKey), Test: s.test}
}

// Sign returns the certificate in canonical form with its signature.
func (s *Signer) Sign(c *Certificate) (*Signed, error) {
	if c.Test != s.test {
		return nil, ErrEnvironment
	}
	c.Type, c.Version = Type, Version
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	document, err := Canonical(raw)
	if err != nil {
		return nil, err
	}
	return &Signed{Document: document, KeyID: s.id, Signature: ed25519.Sign(s.key, document)}, nil
}

// Key is a public key with its id.
type Key struct {
	ID     string
	Public ed25519.PublicKey
	Test   bool // it signs certificates of Test orders and no others
}

// KeyID returns the id of a public key: its JWK thumbprint (RFC 7638).
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + encoding.EncodeToString(public) + `"}`))
	return encoding.EncodeToString(sum[:])
}

// KeySet is the keys that an issuer signs with or has signed with.
type KeySet []Key

// Find returns the key with the id.
func (k KeySet) Find(id string) (Key, bool) {
	for _, key := range k {
		if key.ID == id {
			return key, true
		}
	}
	return Key{}, false
}

const testEnvironment = "test"

// jwk is a public key in the form of RFC 8037.
type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Kid string `json:"kid"`
	Use string `json:"use"`
	Alg string `json:"alg"`

	Environment string `json:"environment,omitempty"` // "test" at the key of Test certificates
}

// MarshalJSON writes a JSON Web Key Set.
func (k KeySet) MarshalJSON() ([]byte, error) {
	set := struct {
		Keys []jwk `json:"keys"`
	}{Keys: make([]jwk, len(k))}
	for i, key := range k {
		set.Keys[i] = jwk{
			Kty: "OKP", Crv: "Ed25519", X: encoding.EncodeToString(key.Public), Kid: key.ID, Use: "sig", Alg: "EdDSA",
		}
		if key.Test {
			set.Keys[i].Environment = testEnvironment
		}
	}
	return json.Marshal(set)
}

// ParseKeys reads a JSON Web Key Set. Keys of other types are skipped; a key whose id is not its thumbprint is
// refused.
func ParseKeys(data []byte) (KeySet, error) {
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("the key set is not JSON: %w", err)
	}
	var keys KeySet
	for _, j := range set.Keys {
		if j.Kty != "OKP" || j.Crv != "Ed25519" {
			continue
		}
		public, err := encoding.DecodeString(j.X)
		if err != nil || len(public) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("the key %q is malformed", j.Kid)
		}
		key := Key{ID: KeyID(public), Public: public, Test: j.Environment == testEnvironment}
		if j.Kid != key.ID {
			return nil, fmt.Errorf("the key %q does not have its thumbprint as its id", j.Kid)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set holds no Ed25519 key")
	}
	return keys, nil
}
