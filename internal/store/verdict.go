package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/assayhq/assay/internal/domain/certificate"
	"github.com/assayhq/assay/internal/domain/order"
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

// SaveVerdictDraft stores what a staff user has entered for an order as the version that follows another, and reports
// whether that other one still was the latest.
func (t *Tx) SaveVerdictDraft(orderID, staffID, draft string, follows int64, now time.Time) (bool, error) {
	return t.changed(`INSERT INTO verdict_drafts (order_id, staff_id, version, draft, updated_at)
		VALUES ($1, $2, CAST($3 AS BIGINT) + 1, $4, $5)
		ON CONFLICT (order_id, staff_id) DO UPDATE
		SET version = excluded.version, draft = excluded.draft, updated_at = excluded.updated_at
		WHERE verdict_drafts.version = $3`, orderID, staffID, follows, draft, column.Micros(now))
}

const (
	draftColumns = "SELECT d.staff_id, s.name, d.version, d.draft, d.updated_at " +
		"FROM verdict_drafts d JOIN staff s ON s.id = d.staff_id "
	verdictDraft    = draftColumns + "WHERE d.order_id = $1 AND d.staff_id = $2"
	colleaguesDraft = draftColumns + "WHERE d.order_id = $1 AND d.staff_id <> $2 ORDER BY d.updated_at DESC LIMIT 1"
)

// VerdictDraft returns what a staff user has entered for an order, or ErrNotFound.
func (q Queries) VerdictDraft(ctx context.Context, orderID, staffID string) (*order.KeptDraft, error) {
	return db.First(db.Collect(ctx, q.db, readDraft, verdictDraft, orderID, staffID))
}

// ColleaguesDraft returns what anybody but a staff user has entered last for an order, or ErrNotFound.
func (q Queries) ColleaguesDraft(ctx context.Context, orderID, staffID string) (*order.KeptDraft, error) {
	return db.First(db.Collect(ctx, q.db, readDraft, colleaguesDraft, orderID, staffID))
}

func readDraft(scan db.Scanner) (*order.KeptDraft, error) {
	d := new(order.KeptDraft)
	var entered string
	if err := scan(&d.StaffID, &d.StaffName, &d.Version, &entered, column.Time(&d.UpdatedAt)); err != nil {
		return nil, err
	}
	return d, json.Unmarshal([]byte(entered), &d.VerdictDraft)
}

// DeleteVerdictDrafts deletes what was entered for an order and not sent, except by one, whose checklist is part of how
// the verdict came about.
func (t *Tx) DeleteVerdictDrafts(orderID, exceptStaffID string) error {
	return t.exec("DELETE FROM verdict_drafts WHERE order_id = $1 AND staff_id <> $2", orderID, exceptStaffID)
}
