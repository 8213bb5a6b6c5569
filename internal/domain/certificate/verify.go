package certificate

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Errors of Verify.
var (
	ErrMalformed   = errors.New("this is not a certificate file")
	ErrEnvironment = errors.New("a Test certificate is signed with the key of Live certificates, or the other way round")
	ErrUnknownKey  = errors.New("the certificate is signed with a key that is not in the key set")
	ErrSignature   = errors.New(
		"the signature is wrong: the certificate was changed, or was not issued by the owner of the key",
	)
)

// maxFile is far above the size of any certificate: with 75 photos it has less than 20 KiB.
const maxFile = 1 << 20

// Result is a certificate with a valid signature.
type Result struct {
	Certificate *Certificate
	KeyID       string
	// Revoked is the revocation stated in the file. A file saved before a revocation does not have it: only the page
	// at Certificate.URL is up to date.
	Revoked *Revocation
}

// Verify checks a certificate file against the issuer's keys, offline. The error is ErrMalformed, ErrUnknownKey,
// ErrSignature or ErrEnvironment.
func Verify(file []byte, keys KeySet) (*Result, error) {
	s, err := Parse(file)
	if err != nil {
		return nil, err
	}
	c, err := s.Verify(keys)
	if err != nil {
		return nil, err
	}
	return &Result{Certificate: c, KeyID: s.KeyID, Revoked: s.Revoked}, nil
}

// Verify reads the document and checks it against the issuer's keys. The errors are those of the function Verify.
func (s *Signed) Verify(keys KeySet) (*Certificate, error) {
	key, ok := keys.Find(s.KeyID)
	if !ok {
		return nil, ErrUnknownKey
	}
	if !ed25519.Verify(key.Public, s.Document, s.Signature) {
		return nil, ErrSignature
	}
	c, err := s.Read()
	if err != nil {
		return nil, err
	}
	if c.Type != Type || c.Version != Version {
		return nil, fmt.Errorf("%w of version %d", ErrMalformed, Version)
	}
	if c.Test != key.Test {
		return nil, ErrEnvironment
	}
	return c, nil
}

// Parse reads a certificate file without verifying its signature. Whitespace and the order of names do not matter;
// an ambiguous file is ErrMalformed.
func Parse(file []byte) (*Signed, error) {
	if len(file) > maxFile {
		return nil, fmt.Errorf("%w: it is too large", ErrMalformed)
	}
	strict, err := Canonical(file) // refuses duplicate names, of which encoding/json takes the last
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	d := json.NewDecoder(bytes.NewReader(strict))
	d.DisallowUnknownFields()
	var e envelope
	if err := d.Decode(&e); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	signature, err := encoding.DecodeString(e.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize || len(e.Certificate) == 0 || e.KeyID == "" {
		return nil, fmt.Errorf("%w: certificate, key_id or signature is missing or malformed", ErrMalformed)
	}
	return &Signed{Document: e.Certificate, KeyID: e.KeyID, Signature: signature, Revoked: e.Revoked}, nil
}
