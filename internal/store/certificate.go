package store

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
)

// InsertCertificateKey stores a public key, unless it is stored already.
func (t *Tx) InsertCertificateKey(k certificate.Key, at time.Time) error {
	_, err := t.exec(`INSERT INTO certificate_keys (id, public_key, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO NOTHING`,
		k.ID, base64.RawURLEncoding.EncodeToString(k.Public), micros(at))
	return err
}

// CertificateKeys returns every key that certificates were signed with, the newest first.
func (q Queries) CertificateKeys(ctx context.Context) (certificate.KeySet, error) {
	var keys certificate.KeySet
	const text = "SELECT id, public_key FROM certificate_keys ORDER BY created_at DESC, id"
	err := q.rows(ctx, text, nil, func(scan func(...any) error) error {
		var k certificate.Key
		var public string
		if err := scan(&k.ID, &public); err != nil {
			return err
		}
		raw, err := base64.RawURLEncoding.DecodeString(public)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return fmt.Errorf("certificate key %s is broken", k.ID)
		}
		k.Public = raw
		keys = append(keys, k)
		return nil
	})
	return keys, err
}

// InsertCertificate adds the certificate of an order; ErrExists when there is one with the id.
func (t *Tx) InsertCertificate(c *certificate.Issued, issuedAt time.Time) error {
	_, err := t.exec(`INSERT INTO certificates (id, order_id, document, signature, key_id, issued_at)
		VALUES ($1, $2, $3, $4, $5, $6)`,
		c.ID, c.OrderID, string(c.Document), base64.RawURLEncoding.EncodeToString(c.Signature), c.KeyID, micros(issuedAt))
	return err
}

// Certificate returns a certificate by its id, or ErrNotFound.
func (q Queries) Certificate(ctx context.Context, id string) (*certificate.Issued, error) {
	c := &certificate.Issued{ID: id}
	var document, signature string
	var revokedAt sql.NullInt64
	var reason sql.NullString
	if err := q.row(ctx, `SELECT order_id, document, signature, key_id, revoked_at, revoked_reason FROM certificates
		WHERE id = $1`, []any{id}, &c.OrderID, &document, &signature, &c.KeyID, &revokedAt, &reason); err != nil {
		return nil, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return nil, fmt.Errorf("signature of certificate %s is broken: %w", id, err)
	}
	c.Document, c.Signature = []byte(document), raw
	if revokedAt.Valid {
		c.Revoked = &certificate.Revocation{At: certificate.Time(timeOf(revokedAt.Int64)), Reason: reason.String}
	}
	return c, nil
}

// RevokeCertificate marks a certificate as revoked, or returns ErrNotFound when there is none in force.
func (t *Tx) RevokeCertificate(id, reason string, at time.Time) error {
	return t.one("UPDATE certificates SET revoked_at = $1, revoked_reason = $2 WHERE id = $3 AND revoked_at IS NULL",
		micros(at), reason, id)
}

// RevokeCertificatesOf revokes the certificates of an order that are in force, except one, which may be empty.
func (t *Tx) RevokeCertificatesOf(orderID, exceptID, reason string, at time.Time) error {
	_, err := t.exec(`UPDATE certificates SET revoked_at = $1, revoked_reason = $2
		WHERE order_id = $3 AND id <> $4 AND revoked_at IS NULL`, micros(at), reason, orderID, exceptID)
	return err
}

// OrderPhotoFiles returns the photos of an order that were provided, each file once, in the order they were sent.
func (q Queries) OrderPhotoFiles(ctx context.Context, orderID string) ([]order.PhotoFile, error) {
	var files []order.PhotoFile
	seen := make(map[string]bool)
	err := q.rows(ctx, `SELECT o.photo, o.index_code, p.sha256 FROM order_photos o JOIN photos p ON p.name = o.photo
		WHERE o.order_id = $1 ORDER BY o.round, o.position`, []any{orderID}, func(scan func(...any) error) error {
		var f order.PhotoFile
		err := scan(&f.Name, &f.IndexCode, &f.SHA256)
		if !seen[f.Name] {
			seen[f.Name] = true
			files = append(files, f)
		}
		return err
	})
	return files, err
}
