// Package certificate defines the public certificate of an authentic item: a document with the facts of the order
// and the hashes of its photos, signed with Ed25519 and verifiable offline.
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

// Certificate is the signed content.
type Certificate struct {
	Type        string  `json:"type"`
	Version     int     `json:"version"`
	ID          string  `json:"id"`
	URL         string  `json:"url"`    // page of the certificate, which also shows a revocation
	Issuer      string  `json:"issuer"` // public address of the service
	IssuedAt    Time    `json:"issued_at"`
	OrderNumber string  `json:"order_number"`
	Outcome     string  `json:"outcome"`
	Test        bool    `json:"test"` // Test environment: no item was examined
	Item        Item    `json:"item"`
	Photos      []Photo `json:"photos"`
}

// Item describes the examined item in every language.
type Item struct {
	Category Name  `json:"category"`
	Brand    Name  `json:"brand"`
	Model    *Name `json:"model,omitempty"`
}

// Name is the name of a catalog entity at the time of issue.
type Name struct {
	Code string `json:"code"`
	text.Text
}

// Photo is a photo that the verdict is based on: what it shows and the hex SHA-256 of the uploaded file.
type Photo struct {
	IndexCode string    `json:"index_code"`
	Name      text.Text `json:"name"`
	SHA256    string    `json:"sha256"`
}

// Title returns the item's title in a language: brand and model, or brand and category.
func (i *Item) Title(l text.Locale) string {
	if i.Model != nil {
		return i.Brand.In(l) + " " + i.Model.In(l)
	}
	return i.Brand.In(l) + " " + i.Category.In(l)
}

// Time is an instant with a precision of seconds, in UTC.
type Time time.Time

func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Format(time.RFC3339) + `"`), nil
}

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

// Signed is a certificate as it is stored and published.
type Signed struct {
	Document  []byte // canonical JSON of a Certificate: what the signature is over
	KeyID     string
	Signature []byte
	Revoked   *Revocation // nil: still valid
}

// Revocation says that a certificate is no longer valid. It is not signed: the page of the certificate shows it.
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

// File returns the certificate as an indented JSON file.
func (s *Signed) File() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(envelope{
		Certificate: s.Document, KeyID: s.KeyID, Signature: encoding.EncodeToString(s.Signature), Revoked: s.Revoked,
	})
	return b.Bytes(), err
}

// Read decodes the document without verifying it.
func (s *Signed) Read() (*Certificate, error) {
	c := new(Certificate)
	if err := json.Unmarshal(s.Document, c); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMalformed, strings.TrimPrefix(err.Error(), "json: "))
	}
	return c, nil
}

// Issued is a signed certificate with the order it belongs to.
type Issued struct {
	Signed
	ID      string
	OrderID string
}

// Verify is that of Signed, and checks that the document is that of the id.
func (c *Issued) Verify(keys KeySet) (*Certificate, error) {
	facts, err := c.Signed.Verify(keys)
	if err == nil && facts.ID != c.ID {
		err = fmt.Errorf("%w: the document is that of the certificate %s", ErrSignature, facts.ID)
	}
	return facts, err
}

// Revoked is a certificate that was taken back, in a list.
type Revoked struct {
	ID          string
	OrderID     string
	OrderNumber string
	Test        bool
	Reason      string
	At          time.Time
}

// Issuer is who issues certificates, as people know them: a firm, its address, its logo. What is signed is the public
// address of the service, Certificate.Issuer.
type Issuer struct {
	Name    string
	Address string // one line
	Logo    *Logo  // nil: none
}
