package store

import (
	"context"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/store/column"
	"github.com/assayhq/assay/internal/store/db"
)

// InsertCertificate adds the certificate of an order; ErrExists when there is one with the id.
func (t *Tx) InsertCertificate(c *certificate.Issued, issuedAt time.Time) error {
	return t.db.Insert("certificates (id, order_id, document, signature, key_id, issued_at)",
		c.ID, c.OrderID, string(c.Document), column.EncodeBytes(c.Signature), c.KeyID, column.Micros(issuedAt))
}

// Certificate returns a certificate by its id, or ErrNotFound.
func (q Queries) Certificate(ctx context.Context, id string) (*certificate.Issued, error) {
	c := &certificate.Issued{ID: id}
	var document, signature, reason string
	var revokedAt *time.Time
	if err := q.db.Row(ctx, `SELECT order_id, document, signature, key_id, revoked_at, revoked_reason FROM certificates
		WHERE id = $1`, []any{id}, &c.OrderID, &document, &signature, &c.KeyID, column.TimeOrNil(&revokedAt),
		column.Text(&reason)); err != nil {
		return nil, err
	}
	raw, err := column.DecodeBytes(signature)
	if err != nil {
		return nil, fmt.Errorf("signature of certificate %s is broken: %w", id, err)
	}
	c.Document, c.Signature = []byte(document), raw
	if revokedAt != nil {
		c.Revoked = &certificate.Revocation{At: certificate.Time(*revokedAt), Reason: reason}
	}
	return c, nil
}

// RevokeCertificate marks a certificate as revoked, or returns ErrNotFound when there is none in force.
func (t *Tx) RevokeCertificate(id, reason string, at time.Time) error {
	return t.db.One("UPDATE certificates SET revoked_at = $1, revoked_reason = $2 WHERE id = $3 AND revoked_at IS NULL",
		column.Micros(at), reason, id)
}

// RevokeCertificatesOf revokes the certificates of an order that are in force, except one, which may be empty.
func (t *Tx) RevokeCertificatesOf(orderID, exceptID, reason string, at time.Time) error {
	return t.exec(`UPDATE certificates SET revoked_at = $1, revoked_reason = $2
		WHERE order_id = $3 AND id <> $4 AND revoked_at IS NULL`, column.Micros(at), reason, orderID, exceptID)
}

// RevokedCertificates returns the certificates that were taken back last, the newest first.
func (q Queries) RevokedCertificates(ctx context.Context, limit int) ([]certificate.Revoked, error) {
	return db.Collect(ctx, q.db, func(scan db.Scanner) (c certificate.Revoked, err error) {
		err = scan(&c.ID, &c.OrderID, &c.OrderNumber, &c.Test, &c.Reason, column.Time(&c.At))
		return c, err
	}, `SELECT c.id, c.order_id, o.number, CASE o.environment WHEN 'test' THEN 1 ELSE 0 END, c.revoked_reason, c.revoked_at
		FROM certificates c JOIN orders o ON o.id = c.order_id WHERE c.revoked_at IS NOT NULL
		ORDER BY c.revoked_at DESC LIMIT $1`, limit)
}
