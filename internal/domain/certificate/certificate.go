// Package certificate holds what the outside world is told of an authentic item: a document with the facts of the
// order and the hashes of its photos, signed with Ed25519, and how anyone can check it without asking the issuer.
package certificate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/assayhq/assay/internal/domain/text"
)

// Type and version of the document. A later version is told apart before its signature is looked at.
const (
	Type    = "assay-certificate"
	Version = 1
)

// Certificate is the facts that are signed.
type Certificate struct {
	Type        string  `json:"type"`
	Version     int     `json:"version"`
	ID          string  `json:"id"`
	URL         string  `json:"url"`    // where the issuer shows it, and says whether it still stands
	Issuer      string  `json:"issuer"` // public address of the service
	IssuedAt    Time    `json:"issued_at"`
	OrderNumber string  `json:"order_number"`
	Outcome     string  `json:"outcome"`
	Test        bool    `json:"test"` // a rehearsal: no item was examined
	Item        Item    `json:"item"`
	Photos      []Photo `json:"photos"`
}

// Item says what was examined, in every language.
type Item struct {
	Category Name  `json:"category"`
	Brand    Name  `json:"brand"`
	Model    *Name `json:"model,omitempty"`
}

// Name is a catalog entity as it was called when the certificate was issued.
type Name struct {
	Code string `json:"code"`
	text.Text
}

// Photo is one photo that the verdict rests on: what it shows and the SHA-256 of the file as it was uploaded, in hex.
type Photo struct {
	IndexCode string    `json:"index_code"`
	Name      text.Text `json:"name"`
	SHA256    string    `json:"sha256"`
}

// Title names the item in a language: brand and model, or brand and category.
func (i *Item) Title(l text.Locale) string {
	if i.Model != nil {
		return i.Brand.In(l) + " " + i.Model.In(l)
	}
	return i.Brand.In(l) + " " + i.Category.In(l)
}

// Time is a moment in whole seconds, UTC, as it stands in the document.
type Time time.Time

// MarshalJSON writes RFC 3339.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Format(time.RFC3339) + `"`), nil
}

// UnmarshalJSON reads RFC 3339.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	parsed, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("%q is not a time in RFC 3339", s)
	}
	*t = Time(parsed.UTC())
	return nil
}

// Signed is a certificate as it is kept and handed out.
type Signed struct {
	Document  []byte // canonical JSON of a Certificate: what the signature is over
	KeyID     string
	Signature []byte
	Revoked   *Revocation // nil: it stands
}

// Revocation says that a certificate no longer stands. It is not part of what is signed: the page of the
// certificate tells.
type Revocation struct {
	At     Time   `json:"at"`
	Reason string `json:"reason"`
}

// envelope is the file form of a Signed.
type envelope struct {
	Certificate json.RawMessage `json:"certificate"`
	KeyID       string          `json:"key_id"`
	Signature   string          `json:"signature"` // base64url without padding
	Revoked     *Revocation     `json:"revoked"`
}

// File returns the certificate as one JSON file, in a form that people can read.
func (s *Signed) File() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(envelope{
		Certificate: s.Document,
		KeyID:       s.KeyID,
		Signature:   encoding.EncodeToString(s.Signature),
		Revoked:     s.Revoked,
	})
	return b.Bytes(), err
}

// Read returns the facts of a signed document, which it does not verify.
func (s *Signed) Read() (*Certificate, error) {
	c := new(Certificate)
	if err := json.Unmarshal(s.Document, c); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMalformed, strings.TrimPrefix(err.Error(), "json: "))
	}
	return c, nil
}
